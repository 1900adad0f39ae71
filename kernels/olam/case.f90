!> The options of the run: the namelist &olam of a file (nml=FILE, or olam.nml in the working directory), then key=value arguments.
module olam_case
  use kernel_failure, only: give_up
  implicit none
  private
  public :: case_type, read_case

  integer, parameter, public :: path_length = 1024

  !> The members are the namelist's keys; kernel.toml explains them.
  type :: case_type
    character(16) :: output = 'native'           !< native, tailrace or none
    character(path_length) :: layout = ''        !< '' leaves the choice to tailrace.toml
    character(path_length) :: dir = 'olam_out'
    character(path_length) :: run = ''           !< file of the run's record; '' = none
    character(path_length) :: input = ''
    integer :: steps = 4
    logical :: barriers = .true.
    integer :: sweeps = 200
    integer :: levels = 10                       !< number of levels of the computed state, which is never written
    character(8) :: decomposition = '2d'
    integer :: columns_lat = 50, columns_lon = 100
    integer :: mesh_lat = 0, mesh_lon = 0
    integer :: plot_fields = 10
    integer :: results_levels = 5, results_fields = 5
    integer :: history_lat = 125, history_lon = 250, history_fields = 8
  end type

contains

  !> Reads the options from the arguments. All ranks have the same arguments, so all fail on a bad one.
  subroutine read_case(c)
    type(case_type), intent(out) :: c
    character(2*path_length) :: argument
    character(path_length) :: file
    integer :: i
    logical :: there

    file = 'olam.nml'
    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      if (argument(:4) == 'nml=') file = argument(5:)
    end do
    inquire (file=file, exist=there)
    if (there) call read_namelist(c, file=file)
    if (.not. there .and. file /= 'olam.nml') call give_up("nml='"//trim(file)//"': no such file")
    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      if (argument(:4) /= 'nml=') call take_argument(c, trim(argument))
    end do
    call check(c)
  end subroutine

  !> Reads an argument as one line of the namelist; texts need no quotes in arguments.
  subroutine take_argument(c, argument)
    type(case_type), intent(inout) :: c
    character(*), intent(in) :: argument
    integer :: equal

    if (argument == '--no-barriers') then
      c%barriers = .false.
      return
    end if
    equal = index(argument, '=')
    if (equal < 2) call give_up("argument '"//argument//"': expected key=value, --no-barriers or nml=FILE")
    select case (argument(:equal - 1))
    case ('output', 'layout', 'dir', 'run', 'input', 'decomposition')
      call read_namelist(c, text=argument(:equal)//quoted(argument(equal + 1:)))
    case default
      call read_namelist(c, text=argument)
    end select
  end subroutine

  pure function quoted(text) result(whole)
    character(*), intent(in) :: text
    character(:), allocatable :: whole
    integer :: i

    whole = "'"
    do i = 1, len(text)
      whole = whole//text(i:i)
      if (text(i:i) == "'") whole = whole//"'"
    end do
    whole = whole//"'"
  end function

  !> Reads the namelist from a file, or one assignment of it. Options that are not named keep their values.
  subroutine read_namelist(c, file, text)
    type(case_type), intent(inout) :: c
    character(*), intent(in), optional :: file, text
    character(16) :: output
    character(path_length) :: layout, dir, run, input
    character(8) :: decomposition
    integer :: steps, sweeps, levels, columns_lat, columns_lon, mesh_lat, mesh_lon, plot_fields, results_levels, results_fields
    integer :: history_lat, history_lon, history_fields, unit, status
    logical :: barriers
    character(256) :: message
    character(:), allocatable :: whole
    namelist /olam/ output, layout, dir, run, input, steps, barriers, sweeps, levels, decomposition, columns_lat, columns_lon, &
      mesh_lat, mesh_lon, plot_fields, results_levels, results_fields, history_lat, history_lon, history_fields

    output = c%output; layout = c%layout; dir = c%dir; run = c%run; input = c%input; decomposition = c%decomposition
    steps = c%steps; sweeps = c%sweeps; levels = c%levels; barriers = c%barriers
    columns_lat = c%columns_lat; columns_lon = c%columns_lon; mesh_lat = c%mesh_lat; mesh_lon = c%mesh_lon
    plot_fields = c%plot_fields; results_levels = c%results_levels; results_fields = c%results_fields
    history_lat = c%history_lat; history_lon = c%history_lon; history_fields = c%history_fields
    message = ''
    if (present(file)) then
      open (newunit=unit, file=file, status='old', action='read', iostat=status, iomsg=message)
      if (status == 0) read (unit, nml=olam, iostat=status, iomsg=message)
      if (status /= 0) call give_up("namelist &olam of '"//trim(file)//"': "//trim(message)//"; README.md lists the keys")
      close (unit)
    else
      whole = '&olam '//text//' /'
      read (whole, nml=olam, iostat=status, iomsg=message)
      if (status /= 0) call give_up("argument '"//text//"': "//trim(message)//"; README.md lists the keys")
    end if
    c = case_type(output, layout, dir, run, input, steps, barriers, sweeps, levels, decomposition, columns_lat, columns_lon, &
                  mesh_lat, mesh_lon, plot_fields, results_levels, results_fields, history_lat, history_lon, history_fields)
  end subroutine

  subroutine check(c)
    type(case_type), intent(in) :: c

    if (all(c%output /= [character(8) :: 'native', 'tailrace', 'none'])) &
      call give_up("output='"//trim(c%output)//"': use native, tailrace or none")
    if (all(c%decomposition /= [character(3) :: 'lat', '2d'])) &
      call give_up("decomposition='"//trim(c%decomposition)//"': use lat or 2d")
    if ((c%mesh_lat > 0) .neqv. (c%mesh_lon > 0)) call give_up('mesh_lat and mesh_lon: set both above 0, or neither')
    call at_least('steps', c%steps, 0)
    call at_least('sweeps', c%sweeps, 0)
    call at_least('levels', c%levels, 1)
    call at_least('columns_lat', c%columns_lat, 1)
    call at_least('columns_lon', c%columns_lon, 1)
    call at_least('mesh_lat', c%mesh_lat, 0)
    call at_least('mesh_lon', c%mesh_lon, 0)
    call at_least('plot_fields', c%plot_fields, 1)
    call at_least('results_levels', c%results_levels, 1)
    call at_least('results_fields', c%results_fields, 1)
    call at_least('history_lat', c%history_lat, 1)
    call at_least('history_lon', c%history_lon, 1)
    call at_least('history_fields', c%history_fields, 1)
    if (max(c%plot_fields, c%results_fields, c%history_fields) > 99) &
      call give_up('plot_fields, results_fields, history_fields: at most 99 each; more columns make larger files')
    if (c%input == '') call give_up("input='': name a file made by prepare.py")
  end subroutine

  subroutine at_least(key, value, least)
    character(*), intent(in) :: key
    integer, intent(in) :: value, least
    character(64) :: text

    if (value >= least) return
    write (text, '(a, "=", i0, ": give at least ", i0)') key, value, least
    call give_up(trim(text))
  end subroutine

end module
