!> The parts of a run's record that kernels share: its file, its phases, and values as JSON.
module kernel_record
  use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
  use kernel_failure, only: give_up
  use kernel_phases, only: phases_type
  implicit none
  private
  public :: close_record, long, number, open_record, remove_record, return_seconds, text, whole, write_phases

contains

  !> Removes an earlier record, so that a failed run has none; '' is no file.
  subroutine remove_record(path)
    character(*), intent(in) :: path
    integer :: unit, status

    if (path == '') return
    open (newunit=unit, file=path, status='old', iostat=status)
    if (status == 0) close (unit, status='delete', iostat=status)
  end subroutine

  !> The Fortran unit of the record's file; path '' means standard output. The run fails if the file cannot be made.
  function open_record(path) result(unit)
    character(*), intent(in) :: path
    integer :: unit, status
    character(256) :: message

    unit = output_unit
    if (path == '') return
    open (newunit=unit, file=path, status='replace', action='write', iostat=status, iomsg=message)
    if (status /= 0) call give_up("run='"//trim(path)//"': "//trim(message))
  end function

  subroutine close_record(unit)
    integer, intent(in) :: unit

    if (unit /= output_unit) close (unit)
  end subroutine

  !> The members "phases" and "step_phases".
  subroutine write_phases(unit, phases)
    integer, intent(in) :: unit
    type(phases_type), intent(in) :: phases
    integer :: step, steps

    steps = ubound(phases%exec, 2)
    write (unit, '(a)') ' "phases": '//phase_object(phases, 0, steps, phases%barriers)//','
    write (unit, '(a)') ' "step_phases": ['
    do step = 1, steps
      write (unit, '(a)') '  '//phase_object(phases, step, step, phases%barriers)//trim(merge(', ', '  ', step < steps))
    end do
    write (unit, '(a)') ' ],'
  end subroutine

  !> {"1read": {"exec_s", "sync_s", "slowest_s"}, ...} summed over steps first..last; phases that did not run are left out.
  function phase_object(phases, first, last, barriers) result(json)
    type(phases_type), intent(in) :: phases
    integer, intent(in) :: first, last
    logical, intent(in) :: barriers
    character(:), allocatable :: json, sync
    integer :: p

    json = '{'
    do p = 1, size(phases%names)
      if (all(phases%exec_min(p, first:last) < 0)) cycle
      sync = 'null'
      if (barriers) sync = number(ran(phases%sync))
      if (len(json) > 1) json = json//', '
      json = json//text(phases%names(p))//': {"exec_s": '//number(ran(phases%exec_min))//', "sync_s": '//sync// &
             ', "slowest_s": '//number(ran(phases%exec_max))//'}'
    end do
    json = json//'}'

  contains

    real(real64) function ran(seconds)
      real(real64), intent(in) :: seconds(:, 0:)

      ran = sum(seconds(p, first:last), mask=phases%exec_min(p, first:last) >= 0)
    end function
  end function

  !> The sum over the output phases of the seconds of the slowest rank in each.
  function return_seconds(phases) result(seconds)
    type(phases_type), intent(in) :: phases
    real(real64) :: seconds
    integer :: p

    seconds = 0
    do p = 1, size(phases%names)
      if (phases%is_output(p)) seconds = seconds + sum(phases%exec_max(p, :), mask=phases%exec_min(p, :) >= 0)
    end do
  end function

  pure function text(value) result(json)
    character(*), intent(in) :: value
    character(:), allocatable :: json
    character(4) :: hex
    integer :: i

    json = '"'
    do i = 1, len_trim(value)
      if (iachar(value(i:i)) < 32) then
        write (hex, '(z4.4)') iachar(value(i:i))
        json = json//'\u'//hex
        cycle
      end if
      if (value(i:i) == '"' .or. value(i:i) == '\') json = json//'\'
      json = json//value(i:i)
    end do
    json = json//'"'
  end function

  pure function whole(value) result(json)
    integer, intent(in) :: value
    character(:), allocatable :: json

    json = long(int(value, int64))
  end function

  pure function long(value) result(json)
    integer(int64), intent(in) :: value
    character(:), allocatable :: json
    character(24) :: digits

    write (digits, '(i0)') value
    json = trim(digits)
  end function

  pure function number(value) result(json)
    real(real64), intent(in) :: value
    character(:), allocatable :: json
    character(32) :: digits

    write (digits, '(es24.16e3)') value
    json = trim(adjustl(digits))
  end function

end module
