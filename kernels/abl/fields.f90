!> A rank's slab of each field. The global arrays are (z, y, x) with x fastest, cut along z.
module abl_fields
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use abl_case, only: case_type
  use kernel_formula, only: formula
  implicit none
  private
  public :: field_id, field_name, fill

contains

  !> The number of a field in the formula.
  elemental function field_id(field) result(id)
    integer, intent(in) :: field
    integer :: id

    id = 100 + field
  end function

  !> The name of a field: u, v, w, theta, then f05, f06, ...
  function field_name(field) result(name)
    integer, intent(in) :: field
    character(:), allocatable :: name
    character(5), parameter :: known(4) = ['u    ', 'v    ', 'w    ', 'theta']
    character(3) :: number

    write (number, '("f", i2.2)') field
    name = number
    if (field <= size(known)) name = trim(known(field))
  end function

  subroutine fill(c, rank, field, step, values)
    type(case_type), intent(in) :: c
    integer, intent(in) :: rank, field, step
    real(real64), intent(out) :: values(:, :, :)
    integer(int64) :: plane
    integer :: i, j, k

    plane = int(c%nx, int64)*c%ny
    do k = 1, c%nz
      do j = 1, c%ny
        do i = 1, c%nx
          values(i, j, k) = formula(field_id(field), step, (int(rank, int64)*c%nz + k - 1)*plane + (j - 1)*int(c%nx, int64) + i - 1)
        end do
      end do
    end do
  end subroutine

end module
