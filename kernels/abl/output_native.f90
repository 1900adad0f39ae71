!> The code's own way: for each field, rank and step a direct-access file of fixed records, opened, written and closed. All files
!> are in one directory. A record is a plane of the slab.
module abl_output_native
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use abl_case, only: case_type
  use abl_fields, only: field_name
  use kernel_directory, only: make_directory
  use kernel_failure, only: give_up
  use mpi
  implicit none
  private
  public :: native_open, native_read, native_write

  interface
    function c_fsync(descriptor) bind(c, name='fsync') result(status)
      import :: c_int
      integer(c_int), value :: descriptor
      integer(c_int) :: status
    end function
  end interface

contains

  !> Collective. Makes the directory; its parent must exist.
  subroutine native_open(c, rank)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank
    integer :: error

    if (rank == 0) call make_directory(c%dir)
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  !> Writes the files of a step; returns the bytes written.
  function native_write(c, rank, field, step, values) result(bytes)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank, field, step
    real(real64), intent(in) :: values(:, :, :)
    integer(int64) :: bytes
    integer :: unit, k, status
    character(256) :: message

    unit = opened(c, rank, field, step, 'replace', 'write')
    do k = 1, c%nz
      write (unit, rec=k, iostat=status, iomsg=message) values(:, :, k)
      if (status /= 0) call give_up("'"//file_path(c, rank, field, step)//"': "//trim(message))
    end do
    if (c%sync) then
      flush (unit)
      if (c_fsync(int(fnum(unit), c_int)) /= 0) &
        call give_up("'"//file_path(c, rank, field, step)//"': could not be put on the device")
    end if
    close (unit, iostat=status, iomsg=message)
    if (status /= 0) call give_up("'"//file_path(c, rank, field, step)//"': "//trim(message))
    bytes = size(values, kind=int64)*storage_size(values)/8
  end function

  subroutine native_read(c, rank, field, step, values)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank, field, step
    real(real64), intent(out) :: values(:, :, :)
    integer :: unit, k, status
    character(256) :: message

    unit = opened(c, rank, field, step, 'old', 'read')
    do k = 1, c%nz
      read (unit, rec=k, iostat=status, iomsg=message) values(:, :, k)
      if (status /= 0) call give_up("'"//file_path(c, rank, field, step)//"': "//trim(message)//"; run with the options of its run")
    end do
    close (unit)
  end subroutine

  function opened(c, rank, field, step, status, action) result(unit)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank, field, step
    character(*), intent(in) :: status, action
    integer :: unit, code, record_bytes
    character(256) :: message
    real(real64) :: plane(c%nx, c%ny)

    inquire (iolength=record_bytes) plane
    open (newunit=unit, file=file_path(c, rank, field, step), access='direct', form='unformatted', recl=record_bytes, &
          status=status, action=action, iostat=code, iomsg=message)
    if (code /= 0) call give_up(trim(message)//"; dir= must name a folder that can be used")
  end function

  !> The path DIR/FIELD.RRRR.SSSSSS of a file, with rank RRRR and step SSSSSS.
  function file_path(c, rank, field, step) result(path)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank, field, step
    character(:), allocatable :: path
    character(12) :: number

    write (number, '(".", i4.4, ".", i6.6)') rank, step
    path = c%dir//'/'//field_name(field)//number
  end function

end module
