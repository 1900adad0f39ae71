!> The value of every field of a kernel: a mix of (variable, step, global index), so that each byte of the output can be
!> checked without a reference run. formula.py is the same function; docs/kernels.md states it.
module kernel_formula
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: formula

  integer(int64), parameter :: low32 = int(z'FFFFFFFF', int64)

contains

  !> The value is in (0, 1] and a multiple of 2**-24: exact in 32 and in 64 bits, and never 0, so a hole in a file is detected.
  !> `cell` is the 0-based position in the global array (C order). The multipliers are below 2**31: no product overflows.
  elemental function formula(variable, step, cell) result(value)
    integer, intent(in) :: variable, step
    integer(int64), intent(in) :: cell
    real(real64) :: value
    integer(int64) :: x

    x = iand(iand(cell, low32)*1640531527_int64, low32)
    x = iand(x + int(variable, int64)*1013904223_int64 + ishft(cell, -32)*69069_int64, low32)
    x = iand(x + int(step, int64)*747796405_int64, low32)
    x = ieor(x, ishft(x, -16))
    x = iand(x*2146121005_int64, low32)
    x = ieor(x, ishft(x, -15))
    x = iand(x*1759714725_int64, low32)
    x = ieor(x, ishft(x, -16))
    value = real(ishft(x, -8) + 1, real64)*2.0_real64**(-24)
  end function

end module
