!> The end of a failed run: one line with the cause and the remedy, then the end on all ranks.
module kernel_failure
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi
  implicit none
  private
  public :: give_up

  character(16), public :: kernel_name = 'kernel'   !< set once, before anything can fail

contains

  subroutine give_up(text)
    character(*), intent(in) :: text
    integer :: error

    write (error_unit, '(a)') trim(kernel_name)//': '//text
    flush (error_unit)
    call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end subroutine

end module
