!> The options of the run; kernel.toml explains them.
module abl_case
  use kernel_failure, only: give_up
  use kernel_options, only: option_flag, option_text, option_whole, refuse_other_options
  implicit none
  private
  public :: case_type, read_case

  type :: case_type
    character(:), allocatable :: output, layout, dir, run
    integer :: first = 1, steps = 50       !< steps first..steps are written
    integer :: restart = 0                 !< this step is read before the first one is written; 0: none
    integer :: fields = 4
    integer :: nx = 16, ny = 16, nz = 4    !< of a rank's slab
    logical :: barriers = .true.
    logical :: sync = .false.              !< output = native: each file is synced before it is closed
  end type

contains

  !> Reads the options from the arguments. All ranks have the same arguments, so all fail on a bad one.
  function read_case() result(c)
    type(case_type) :: c

    call refuse_other_options([character(8) :: 'output', 'layout', 'dir', 'run', 'steps', 'restart', 'fields', 'nx', 'ny', 'nz', &
                                               'barriers', 'sync'])
    c%output = option_text('output', 'native')
    c%layout = option_text('layout', '')
    c%dir = option_text('dir', 'abl_out')
    c%run = option_text('run', '')
    c%steps = option_whole('steps', c%steps, 1)
    c%restart = option_whole('restart', 0, 0)
    c%fields = option_whole('fields', c%fields, 1)
    c%nx = option_whole('nx', c%nx, 1)
    c%ny = option_whole('ny', c%ny, 1)
    c%nz = option_whole('nz', c%nz, 1)
    c%barriers = option_flag('barriers', .true.)
    c%sync = option_flag('sync', .false.)
    if (all(c%output /= [character(8) :: 'native', 'tailrace', 'none'])) &
      call give_up('output='//c%output//': use native, tailrace or none')
    if (c%fields > 99) call give_up('fields: at most 99; larger slabs make larger files')
    if (c%restart > 0 .and. c%output == 'none') call give_up('restart: output=none has nothing to read')
    if (c%restart >= c%steps) call give_up('restart: give steps= of more than the step that is read')
    c%first = c%restart + 1
  end function

end module
