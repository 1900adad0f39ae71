!> The same arrays through the library: one stream, whose layout comes from `layout=`, tailrace.toml or the environment.
module abl_output_tailrace
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use abl_case, only: case_type
  use abl_fields, only: field_name
  use mpi, only: MPI_COMM_WORLD
  use tailrace
  implicit none
  private
  public :: output_open, output_begin, output_put, output_end, output_close, output_restart

  character(*), parameter :: stream_name = 'fields'

contains

  !> Collective. A run after a restart appends to the stream from its step on.
  subroutine output_open(stream, c, ranks)
    type(tailrace_stream), intent(inout) :: stream
    type(case_type), intent(in) :: c
    integer, intent(in) :: ranks
    character(:), allocatable :: options
    character(16) :: time
    integer :: field

    options = "mode = 'replace'"
    write (time, '(i0, ".5")') c%restart
    if (c%restart > 0) options = "mode = 'resume'"//new_line('a')//'resume_before = '//trim(time)
    if (c%layout /= '') options = options//new_line('a')//"layout = '"//c%layout//"'"
    call tailrace_open(stream, MPI_COMM_WORLD, c%dir, stream_name, options=options)
    call tailrace_define_dim(stream, 'x', c%nx)
    call tailrace_define_dim(stream, 'y', c%ny)
    call tailrace_define_dim(stream, 'z', c%nz*ranks)
    do field = 1, c%fields
      call tailrace_define_var(stream, field_name(field), TAILRACE_F64, ['x', 'y', 'z'])
    end do
  end subroutine

  subroutine output_begin(stream, step)
    type(tailrace_stream), intent(inout) :: stream
    integer, intent(in) :: step

    call tailrace_begin_step(stream, real(step, real64))
  end subroutine

  subroutine output_put(stream, c, rank, field, values)
    type(tailrace_stream), intent(inout) :: stream
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank, field
    real(real64), intent(in) :: values(:, :, :)

    call tailrace_put(stream, field_name(field), values, start=[1, 1, rank*c%nz + 1])
  end subroutine

  subroutine output_end(stream)
    type(tailrace_stream), intent(inout) :: stream

    call tailrace_end_step(stream)
  end subroutine

  subroutine output_close(stream, report)
    type(tailrace_stream), intent(inout) :: stream
    character(:), allocatable, intent(out) :: report

    call tailrace_report(stream, report)
    call tailrace_close(stream)
  end subroutine

  !> Collective. Reads this rank's slabs of a step.
  subroutine output_restart(c, rank, values)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank
    real(real64), intent(out) :: values(:, :, :, :)
    type(tailrace_reader) :: reader
    integer :: field

    call tailrace_open_read(reader, MPI_COMM_WORLD, c%dir, stream_name)
    call tailrace_select_step(reader, int(c%restart - 1, int64))
    do field = 1, c%fields
      call tailrace_get(reader, field_name(field), values(:, :, :, field), start=[1, 1, rank*c%nz + 1])
    end do
    call tailrace_close_read(reader)
  end subroutine

end module
