!> The kernel's own way of writing: OPEN, WRITE, CLOSE of a file per rank and output time for plot and results, and of one
!> history file by rank 0, all in one directory, as in the paper. Unformatted stream access: no record marks, native byte order.
!>
!> A file: 8 characters 'OLAMOUT1'; int32 stream (1 plot, 2 results, 3 history), step, rank, ranks, variables, header bytes;
!> int32 lat0, lats, lon0, lons of the block; then for each variable 32 characters of name, int32 element type, int32 levels,
!> int64 bytes; then the variables' values, (level, lat, lon) with lon fastest.
module olam_output_native
  use, intrinsic :: iso_fortran_env, only: int32, int64, int8, real32, real64
  use mpi
  use olam_case, only: case_type
  use kernel_directory, only: make_directory
  use kernel_failure, only: give_up
  use olam_fields, only: fields_type
  use olam_mesh, only: block_of_rank, mesh_type
  use olam_variables, only: level_variables, s_history, s_plot, s_results, static_ids, stream_names, t_f64, t_i8, &
    variable_type
  implicit none
  private
  public :: native_type, native_open, native_plot, native_gather, native_write

  type :: native_type
    character(:), allocatable :: dir
    type(variable_type), allocatable :: variables(:)
    integer :: rank = 0, ranks = 1
    integer(int64) :: bytes = 0, files = 0                !< written by this rank
    real(real64), allocatable :: history(:, :, :)         !< rank 0: the whole state
    real(real64), allocatable :: arrived(:)
    integer, allocatable :: counts(:), offsets(:)         !< size and place, in elements, of each rank's block in `arrived`
  end type

contains

  !> Collective. Makes the directory; its parent must exist.
  subroutine native_open(native, c, variables, history_mesh, rank, ranks)
    type(native_type), intent(out) :: native
    type(case_type), intent(in) :: c
    type(variable_type), intent(in) :: variables(:)
    type(mesh_type), intent(in) :: history_mesh
    integer, intent(in) :: rank, ranks
    integer :: r, lat0, lon0, mlat, mlon, error

    native%dir = trim(c%dir)
    native%variables = variables
    native%rank = rank
    native%ranks = ranks
    allocate (native%counts(0:ranks - 1), native%offsets(0:ranks))
    native%offsets(0) = 0
    do r = 0, ranks - 1
      call block_of_rank(history_mesh, r, lat0, lon0, mlat, mlon)
      native%counts(r) = mlat*mlon*c%history_fields
      native%offsets(r + 1) = native%offsets(r) + native%counts(r)
    end do
    if (rank == 0) then
      allocate (native%history(history_mesh%nlon, history_mesh%nlat, c%history_fields), native%arrived(native%offsets(ranks)))
      call make_directory(native%dir)
    else
      allocate (native%history(0, 0, 0), native%arrived(0))
    end if
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  subroutine native_plot(native, mesh, f, step)
    type(native_type), intent(inout) :: native
    type(mesh_type), intent(in) :: mesh
    type(fields_type), intent(in) :: f
    integer, intent(in) :: step
    integer :: unit, n

    call begin_file(native, s_plot, mesh%lat0, mesh%mlat, mesh%lon0, mesh%mlon, step, unit)
    do n = 1, size(f%plot, 3)
      call write_f32(unit, f%plot(:, :, n), size(f%plot, 1)*size(f%plot, 2))
    end do
    call end_file(native, unit)
  end subroutine

  !> Collective. Sends the history state to rank 0, in global order.
  subroutine native_gather(native, history_mesh, f)
    type(native_type), intent(inout) :: native
    type(mesh_type), intent(in) :: history_mesh
    type(fields_type), intent(in) :: f
    integer :: r, error, lat0, lon0, mlat, mlon

    call MPI_Gatherv(f%history, size(f%history), MPI_DOUBLE_PRECISION, native%arrived, native%counts, native%offsets, &
                     MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    if (native%rank /= 0) return
    do r = 0, native%ranks - 1
      call block_of_rank(history_mesh, r, lat0, lon0, mlat, mlon)
      native%history(lon0 + 1:lon0 + mlon, lat0 + 1:lat0 + mlat, :) = &
        reshape(native%arrived(native%offsets(r) + 1:native%offsets(r + 1)), [mlon, mlat, size(native%history, 3)])
    end do
  end subroutine

  !> Writes the results of this rank; on rank 0 the history, too.
  subroutine native_write(native, mesh, f, step)
    type(native_type), intent(inout) :: native
    type(mesh_type), intent(in) :: mesh
    type(fields_type), intent(in) :: f
    integer, intent(in) :: step
    integer :: unit, n

    call begin_file(native, s_results, mesh%lat0, mesh%mlat, mesh%lon0, mesh%mlon, step, unit)
    do n = 1, level_variables
      call write_f32(unit, f%levels(:, :, :, n), size(f%levels)/level_variables)
    end do
    do n = 1, size(f%fields, 3)
      call write_f64(unit, f%fields(:, :, n), size(f%fields, 1)*size(f%fields, 2))
    end do
    if (step == 1) call write_f32(unit, f%topography, size(f%topography))
    if (step == 1) call write_i8(unit, f%land_mask, size(f%land_mask))
    call end_file(native, unit)
    if (native%rank /= 0) return

    call begin_file(native, s_history, 0, size(native%history, 2), 0, size(native%history, 1), step, unit)
    do n = 1, size(native%history, 3)
      call write_f64(unit, native%history(:, :, n), size(native%history, 1)*size(native%history, 2))
    end do
    do n = 1, size(f%scalars)
      write (unit) f%scalars(n)
    end do
    call end_file(native, unit)
  end subroutine

  !> Writes whole arrays as a sequence of elements, with any rank. gfortran 12 passes an array of rank 2 to its buffer row by row,
  !> but a rank-1 array larger than the buffer directly to the system.
  subroutine write_i8(unit, values, n)
    integer, intent(in) :: unit, n
    integer(int8), intent(in) :: values(n)

    write (unit) values
  end subroutine

  subroutine write_f32(unit, values, n)
    integer, intent(in) :: unit, n
    real(real32), intent(in) :: values(n)

    write (unit) values
  end subroutine

  subroutine write_f64(unit, values, n)
    integer, intent(in) :: unit, n
    real(real64), intent(in) :: values(n)

    write (unit) values
  end subroutine

  !> Opens a file and writes its header.
  subroutine begin_file(native, stream, lat0, mlat, lon0, mlon, step, unit)
    type(native_type), intent(in) :: native
    integer, intent(in) :: stream, lat0, mlat, lon0, mlon, step
    integer, intent(out) :: unit
    logical, allocatable :: here(:)
    character(:), allocatable :: path
    character(256) :: message
    integer :: status, v

    path = file_path(native, stream, step)
    open (newunit=unit, file=path, access='stream', form='unformatted', status='replace', action='write', iostat=status, &
          iomsg=message)
    if (status /= 0) call give_up("'"//path//"': "//trim(message)//"; dir= must name a folder that can be written")
    here = native%variables%stream == stream .and. (step == 1 .or. all_but_static(native%variables%id))
    write (unit) 'OLAMOUT1', int([stream, step, native%rank, native%ranks, count(here), 48 + 48*count(here), &
                                  lat0, mlat, lon0, mlon], int32)
    do v = 1, size(here)
      if (here(v)) write (unit) native%variables(v)%name, native%variables(v)%element_type, native%variables(v)%levels, &
        value_bytes(native%variables(v), int(mlat, int64)*mlon)
    end do
  end subroutine

  elemental function all_but_static(id) result(changes)
    integer, intent(in) :: id
    logical :: changes

    changes = all(static_ids /= id)
  end function

  pure function value_bytes(variable, columns) result(bytes)
    type(variable_type), intent(in) :: variable
    integer(int64), intent(in) :: columns
    integer(int64) :: bytes

    bytes = merge(1, max(1, variable%levels), variable%levels < 0)*merge(8, merge(1, 4, variable%element_type == t_i8), &
                                                                         variable%element_type == t_f64)
    if (variable%levels >= 0) bytes = bytes*columns
  end function

  subroutine end_file(native, unit)
    type(native_type), intent(inout) :: native
    integer, intent(in) :: unit
    integer(int64) :: position
    integer :: status
    character(256) :: message

    inquire (unit, pos=position)
    close (unit, iostat=status, iomsg=message)
    if (status /= 0) call give_up("closing a file in '"//native%dir//"': "//trim(message))
    native%bytes = native%bytes + position - 1
    native%files = native%files + 1
  end subroutine

  !> The path of a file: DIR/plot.SSSSSS.RRRRRR, DIR/results.SSSSSS.RRRRRR or DIR/history.SSSSSS, with step SSSSSS and rank RRRRRR.
  function file_path(native, stream, step) result(path)
    type(native_type), intent(in) :: native
    integer, intent(in) :: stream, step
    character(:), allocatable :: path
    character(16) :: number

    write (number, '(".", i6.6, ".", i6.6)') step, native%rank
    path = native%dir//'/'//trim(stream_names(stream))//trim(merge(number(:7)//repeat(' ', 9), number, stream == s_history))
  end function

end module
