!> Options of a kernel: key=value arguments.
module kernel_options
  use kernel_failure, only: give_up
  implicit none
  private
  public :: option_flag, option_text, option_whole, refuse_other_options

  integer, parameter :: longest = 4096

contains

  !> The value of the last argument with this key; `default` if there is no such argument.
  function option_text(key, default) result(value)
    character(*), intent(in) :: key, default
    character(:), allocatable :: value
    character(longest) :: argument
    integer :: i

    value = default
    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      if (index(argument, key//'=') == 1) value = trim(argument(len(key) + 2:))
    end do
  end function

  function option_whole(key, default, least) result(value)
    character(*), intent(in) :: key
    integer, intent(in) :: default, least
    character(:), allocatable :: given
    character(16) :: bound
    integer :: value, status

    value = default
    given = option_text(key, '')
    if (given == '') return
    read (given, *, iostat=status) value
    write (bound, '(i0)') least
    if (status /= 0 .or. verify(given, '0123456789-') /= 0 .or. value < least) &
      call give_up(key//'='//given//': give a whole number of at least '//trim(bound))
  end function

  function option_flag(key, default) result(value)
    character(*), intent(in) :: key
    logical, intent(in) :: default
    character(:), allocatable :: given
    logical :: value

    given = option_text(key, trim(merge('true ', 'false', default)))
    value = given == 'true'
    if (.not. value .and. given /= 'false') call give_up(key//'='//given//': use true or false')
  end function

  !> Fails the run if an argument has a key that is not in the list.
  subroutine refuse_other_options(keys)
    character(*), intent(in) :: keys(:)
    character(longest) :: argument
    integer :: i, equal

    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      equal = index(argument, '=')
      if (equal < 2) call give_up("argument '"//trim(argument)//"': expected key=value; README.md lists the keys")
      if (all(keys /= argument(:equal - 1))) &
        call give_up("argument '"//trim(argument)//"': there is no such key; README.md lists the keys")
    end do
  end subroutine

end module
