!> `use tailrace_f08` in place of `use tailrace` where communicators are type(MPI_Comm) of `use mpi_f08`.
module tailrace_f08
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use mpi_f08, only: MPI_Comm
  use tailrace
  implicit none
  private :: MPI_Comm, open_f08, open_f08_resume_real64, open_f08_resume_real32, open_read_f08, set_aside_f08, release_f08

  interface tailrace_open
    module procedure open_f08, open_f08_resume_real64, open_f08_resume_real32
  end interface

  interface tailrace_open_read
    module procedure open_read_f08
  end interface

  interface tailrace_set_aside
    module procedure set_aside_f08
  end interface

  interface tailrace_release
    module procedure release_f08
  end interface

contains

  subroutine set_aside_f08(all, dedicated, compute, error)
    type(MPI_Comm), intent(in) :: all
    integer, intent(in) :: dedicated
    type(MPI_Comm), intent(out) :: compute
    integer, intent(out), optional :: error

    call tailrace_set_aside(all%MPI_VAL, dedicated, compute%MPI_VAL, error)
  end subroutine

  subroutine release_f08(compute, error)
    type(MPI_Comm), intent(inout) :: compute
    integer, intent(out), optional :: error

    call tailrace_release(compute%MPI_VAL, error)
  end subroutine

  subroutine open_f08(stream, comm, directory, name, options, error)
    type(tailrace_stream), intent(inout) :: stream
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: directory, name
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: error

    call tailrace_open(stream, comm%MPI_VAL, directory, name, options, error)
  end subroutine

  subroutine open_f08_resume_real64(stream, comm, directory, name, options, resume_before, error)
    type(tailrace_stream), intent(inout) :: stream
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: directory, name
    character(*), intent(in), optional :: options
    real(real64), intent(in) :: resume_before
    integer, intent(out), optional :: error

    call tailrace_open(stream, comm%MPI_VAL, directory, name, options, resume_before, error)
  end subroutine

  subroutine open_f08_resume_real32(stream, comm, directory, name, options, resume_before, error)
    type(tailrace_stream), intent(inout) :: stream
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: directory, name
    character(*), intent(in), optional :: options
    real(real32), intent(in) :: resume_before
    integer, intent(out), optional :: error

    call tailrace_open(stream, comm%MPI_VAL, directory, name, options, resume_before, error)
  end subroutine

  subroutine open_read_f08(reader, comm, directory, name, error)
    type(tailrace_reader), intent(inout) :: reader
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: directory, name
    integer, intent(out), optional :: error

    call tailrace_open_read(reader, comm%MPI_VAL, directory, name, error)
  end subroutine
end module
