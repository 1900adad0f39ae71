!> The global maps: every rank reads the whole file, as in the paper, and keeps the values at its own columns.
module olam_input
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32
  use kernel_failure, only: give_up
  use olam_mesh, only: mesh_type
  implicit none
  private
  public :: maps_type, read_maps

  integer, parameter :: name_length = 32
  integer(int32), parameter :: version = 1

  type :: maps_type
    integer :: count = 0, nlat = 0, nlon = 0
    character(name_length), allocatable :: names(:)
    real(real32), allocatable :: values(:, :, :)   !< (lon, lat, map) at this rank's columns
    integer(int64) :: read_bytes = 0
  end type

contains

  function read_maps(path, mesh) result(maps)
    character(*), intent(in) :: path
    type(mesh_type), intent(in) :: mesh
    type(maps_type) :: maps
    integer(int32) :: head(6)
    character(8) :: magic
    real(real32), allocatable :: global(:, :)
    character(256) :: message
    integer :: unit, status, m

    message = 'no maps'
    open (newunit=unit, file=path, access='stream', form='unformatted', status='old', action='read', iostat=status, iomsg=message)
    if (status /= 0) call give_up("input='"//trim(path)//"': "//trim(message)//"; make it with prepare.py")
    read (unit, iostat=status, iomsg=message) magic, head
    if (status /= 0 .or. magic /= 'OLAMMAPS' .or. head(1) /= version) &
      call give_up("input='"//trim(path)//"': not an input file of this version; make it with prepare.py")
    maps%count = head(3)
    maps%nlat = head(4)
    maps%nlon = head(5)
    allocate (maps%names(maps%count), maps%values(mesh%mlon, mesh%mlat, maps%count), global(maps%nlon, maps%nlat))
    read (unit, iostat=status, iomsg=message) maps%names
    if (status == 0) read (unit, pos=head(2) + 1, iostat=status, iomsg=message)
    do m = 1, maps%count
      if (status == 0) read (unit, iostat=status, iomsg=message) global
      if (status /= 0) call give_up("input='"//trim(path)//"': "//trim(message)//"; it is cut off, make it again with prepare.py")
      call resample(global, mesh, maps%values(:, :, m))
    end do
    inquire (unit, pos=maps%read_bytes)
    maps%read_bytes = maps%read_bytes - 1
    close (unit)
  end function

  !> Nearest map cell of each column. Both grids are cell centred and begin at the south pole and at 0 degrees east, so the cell
  !> follows from integers alone and a checker finds the same one.
  pure subroutine resample(global, mesh, local)
    real(real32), intent(in) :: global(:, :)
    type(mesh_type), intent(in) :: mesh
    real(real32), intent(out) :: local(:, :)
    integer :: i, j

    do j = 1, mesh%mlat
      do i = 1, mesh%mlon
        local(i, j) = global(nearest_cell(mesh%lon0 + i, mesh%nlon, size(global, 1)), &
                             nearest_cell(mesh%lat0 + j, mesh%nlat, size(global, 2)))
      end do
    end do
  end subroutine

  pure function nearest_cell(index, of, cells) result(cell)
    integer, intent(in) :: index, of, cells
    integer :: cell

    cell = int((2*int(index, int64) - 1)*cells/(2*int(of, int64))) + 1
  end function

end module
