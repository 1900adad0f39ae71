!> The phases of the run, named as in the paper.
module olam_phases
  implicit none
  private

  integer, parameter, public :: p_read = 1, p_mesh = 2, p_open = 3, p_plot = 4, p_gather = 5, p_exec = 6, p_write = 7, p_close = 8
  character(7), parameter, public :: phase_names(8) = &
    [character(7) :: '1read', '2mesh', '4open', '6plot', '7gather', '8exec', '9write', '9close']
  logical, parameter, public :: phase_is_output(8) = [.false., .false., .true., .true., .true., .false., .true., .true.]
end module
