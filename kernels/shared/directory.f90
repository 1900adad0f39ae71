!> Makes directories, which Fortran cannot.
module kernel_directory
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  implicit none
  private
  public :: make_directory

  interface
    function c_mkdir(path, mode) bind(c, name='mkdir') result(status)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: mode
      integer(c_int) :: status
    end function
  end interface

contains

  !> Its parent must exist. An existing directory is not an error; a missing one fails at the first OPEN in it.
  subroutine make_directory(path)
    character(*), intent(in) :: path
    integer(c_int) :: ignored

    ignored = c_mkdir(path//c_null_char, int(o'777', c_int))
  end subroutine

end module
