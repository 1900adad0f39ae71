!> The phases of a run, each ended by a timestamp barrier (unless barriers are off).
!> Sync time is the last arrival at the barrier minus the first. Ranks of one node share the clock, so it is taken from the
!> arrivals. On several nodes it is the longest wait minus the shortest, because all ranks leave a barrier at nearly the same
!> moment. (On one node this would be less exact: with more ranks than cores they do not leave together.) In a recorded run the log
!> gets the phases' names, too.
module kernel_phases
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
  use tailrace, only: tailrace_phase_begin, tailrace_phase_end
  implicit none
  private
  public :: phases_type, make_phases, start_phase, end_phase, reduce_phases, clock_s

  !> Seconds by phase and step; step 0 has the phases outside of steps. Negative: the phase did not run in that step.
  type :: phases_type
    character(7), allocatable :: names(:)
    logical, allocatable :: is_output(:)      !< whether the phase belongs to the time to return
    logical :: barriers = .true.
    logical :: one_clock = .true.
    real(real64) :: started = 0
    real(real64), allocatable :: exec(:, :), arrived(:, :), wait(:, :)
    real(real64), allocatable :: exec_min(:, :), exec_max(:, :), sync(:, :)   !< over the ranks; on rank 0, after reduce_phases
  end type

contains

  !> Seconds of the node's monotonic clock. MPI_Wtime counts from each process's start, so ranks could not be compared.
  function clock_s() result(seconds)
    real(real64) :: seconds
    integer(int64) :: count, rate

    call system_clock(count, rate)
    seconds = real(count, real64)/real(rate, real64)
  end function

  !> Collective.
  function make_phases(names, is_output, steps, barriers) result(phases)
    character(7), intent(in) :: names(:)
    logical, intent(in) :: is_output(:)
    integer, intent(in) :: steps
    logical, intent(in) :: barriers
    type(phases_type) :: phases
    integer :: node, on_node, ranks, error

    phases%names = names
    phases%is_output = is_output
    phases%barriers = barriers
    allocate (phases%exec(size(names), 0:steps), source=-1.0_real64)
    allocate (phases%arrived(size(names), 0:steps), phases%wait(size(names), 0:steps), source=0.0_real64)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, error)
    call MPI_Comm_size(node, on_node, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Comm_free(node, error)
    phases%one_clock = on_node == ranks
  end function

  subroutine start_phase(phases, phase)
    type(phases_type), intent(inout) :: phases
    integer, intent(in) :: phase

    call tailrace_phase_begin(trim(phases%names(phase)))
    phases%started = clock_s()
  end subroutine

  subroutine end_phase(phases, phase, step)
    type(phases_type), intent(inout) :: phases
    integer, intent(in) :: phase, step
    real(real64) :: arrived
    integer :: error

    arrived = clock_s()
    phases%exec(phase, step) = arrived - phases%started
    phases%arrived(phase, step) = arrived
    if (phases%barriers) then
      call MPI_Barrier(MPI_COMM_WORLD, error)
      phases%wait(phase, step) = clock_s() - arrived
    end if
    call tailrace_phase_end()
  end subroutine

  !> Collective, once, after the last phase.
  subroutine reduce_phases(phases)
    type(phases_type), intent(inout) :: phases
    real(real64), allocatable :: moments(:, :), last(:, :), first(:, :)
    integer :: n, error

    moments = phases%wait
    if (phases%one_clock) moments = phases%arrived
    allocate (last, first, mold=moments)
    allocate (phases%exec_min, phases%exec_max, mold=phases%exec)
    n = size(phases%exec)
    call MPI_Reduce(phases%exec, phases%exec_min, n, MPI_DOUBLE_PRECISION, MPI_MIN, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(phases%exec, phases%exec_max, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(moments, last, n, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(moments, first, n, MPI_DOUBLE_PRECISION, MPI_MIN, 0, MPI_COMM_WORLD, error)
    phases%sync = last - first
  end subroutine

end module
