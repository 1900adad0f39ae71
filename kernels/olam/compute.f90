!> The compute load: an upwind and diffusion stencil over the rank's columns and levels, `sweeps` times per output step.
!> Each block is periodic, so that no rank waits for another. The stencil does not change the sum, which is checked after each step.
module olam_compute
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use kernel_failure, only: give_up
  implicit none
  private
  public :: state_type, start_state, advance

  type :: state_type
    real(real64), allocatable :: now(:, :, :), next(:, :, :)   !< (0:lon+1, 0:lat+1, level), with a rim
    real(real64) :: start_sum = 0
  end type

  real(real64), parameter :: wind = 0.2_real64, diffusion = 0.1_real64

contains

  !> A column's state begins as the sum of all maps, so that all maps are used.
  function start_state(maps, levels) result(state)
    real(real32), intent(in) :: maps(:, :, :)
    integer, intent(in) :: levels
    type(state_type) :: state
    integer :: i, j, k

    allocate (state%now(0:size(maps, 1) + 1, 0:size(maps, 2) + 1, levels), source=0.0_real64)
    allocate (state%next, mold=state%now)
    do k = 1, levels
      do j = 1, size(maps, 2)
        do i = 1, size(maps, 1)
          state%now(i, j, k) = 1.0e5_real64 + k*sum(real(maps(i, j, :), real64))
        end do
      end do
    end do
    state%start_sum = inner_sum(state%now)
  end function

  !> The sum of the state after `sweeps` sweeps.
  function advance(state, sweeps) result(total)
    type(state_type), intent(inout) :: state
    integer, intent(in) :: sweeps
    real(real64) :: total
    real(real64), allocatable :: swap(:, :, :)
    integer :: sweep

    do sweep = 1, sweeps
      call fill_rim(state%now)
      call stencil(state%now, state%next)
      call move_alloc(state%now, swap)
      call move_alloc(state%next, state%now)
      call move_alloc(swap, state%next)
    end do
    total = inner_sum(state%now)
    if (.not. abs(total - state%start_sum) <= 1.0e-9_real64*abs(state%start_sum)) &
      call give_up('the stencil has lost its sum: this machine computes wrongly, or the program is broken')
  end function

  pure subroutine fill_rim(x)
    real(real64), intent(inout) :: x(0:, 0:, :)
    integer :: nlon, nlat

    nlon = ubound(x, 1) - 1
    nlat = ubound(x, 2) - 1
    x(0, :, :) = x(nlon, :, :)
    x(nlon + 1, :, :) = x(1, :, :)
    x(:, 0, :) = x(:, nlat, :)
    x(:, nlat + 1, :) = x(:, 1, :)
  end subroutine

  pure subroutine stencil(x, y)
    real(real64), intent(in) :: x(0:, 0:, :)
    real(real64), intent(inout) :: y(0:, 0:, :)
    integer :: i, j, k

    do k = 1, size(x, 3)
      do j = 1, ubound(x, 2) - 1
        do i = 1, ubound(x, 1) - 1
          y(i, j, k) = x(i, j, k) - wind*(x(i, j, k) - x(i - 1, j, k)) + diffusion* &
                       (x(i - 1, j, k) + x(i + 1, j, k) + x(i, j - 1, k) + x(i, j + 1, k) - 4*x(i, j, k))
        end do
      end do
    end do
  end subroutine

  pure function inner_sum(x) result(total)
    real(real64), intent(in) :: x(0:, 0:, :)
    real(real64) :: total

    total = sum(x(1:ubound(x, 1) - 1, 1:ubound(x, 2) - 1, :))
  end function

end module
