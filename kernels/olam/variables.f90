!> The variables of the three streams, by name.
module olam_variables
  use, intrinsic :: iso_fortran_env, only: int32
  use olam_case, only: case_type
  implicit none
  private
  public :: variable_type, list_variables

  !> Streams, in the order of the native files' `kind`.
  integer, parameter, public :: s_plot = 1, s_results = 2, s_history = 3
  character(7), parameter, public :: stream_names(3) = [character(7) :: 'plot', 'results', 'history']

  !> Element types, numbered as in the library's types.def.
  integer(int32), parameter, public :: t_i8 = 0, t_f32 = 8, t_f64 = 9

  !> The number of the first variable of each group, minus one; formula() gets variable numbers.
  integer, parameter, public :: plot_id = 100, levels_id = 200, fields_id = 300, history_id = 400, scalar_id = 500

  integer, parameter, public :: level_variables = 3, scalar_variables = 3

  integer, parameter, public :: static_ids(2) = [1, 2]   !< topography, land mask: results, first step; not by formula

  type :: variable_type
    character(32) :: name = ''
    character(16) :: units = '1'
    integer :: stream = 0
    integer :: id = 0
    integer(int32) :: element_type = t_f32
    integer(int32) :: levels = 0          !< 0: (lat, lon); n > 0: (level, lat, lon); -1: a scalar
  end type

  character(32), parameter :: plot_table(2, 10) = reshape([character(32) :: &
    'surface_temperature', 'K', 'air_pressure_at_sea_level', 'Pa', 'precipitation_flux', 'kg m-2 s-1', &
    'cloud_area_fraction', '1', 'eastward_wind_10m', 'm s-1', 'northward_wind_10m', 'm s-1', 'specific_humidity_2m', '1', &
    'relative_humidity_2m', '1', 'snowfall_amount', 'kg m-2', 'geopotential_height_500hPa', 'm'], [2, 10])
  character(32), parameter :: levels_table(2, 3) = reshape([character(32) :: &
    'air_temperature', 'K', 'eastward_wind', 'm s-1', 'northward_wind', 'm s-1'], [2, 3])
  character(32), parameter :: fields_table(2, 5) = reshape([character(32) :: &
    'downwelling_shortwave_flux', 'W m-2', 'upward_latent_heat_flux', 'W m-2', 'upward_sensible_heat_flux', 'W m-2', &
    'soil_moisture_content', 'kg m-2', 'runoff_flux', 'kg m-2 s-1'], [2, 5])
  character(32), parameter :: history_table(2, 8) = reshape([character(32) :: &
    'air_density', 'kg m-3', 'eastward_momentum', 'kg m-2 s-1', 'northward_momentum', 'kg m-2 s-1', &
    'vertical_momentum', 'kg m-2 s-1', 'potential_temperature', 'K', 'water_vapour', '1', 'cloud_water', '1', &
    'rain_water', '1'], [2, 8])
  character(32), parameter :: scalar_table(2, 3) = reshape([character(32) :: &
    'mean_surface_pressure', 'Pa', 'total_water', 'kg', 'time_step_length', 's'], [2, 3])

contains

  !> In the order of the native files.
  function list_variables(c) result(list)
    type(case_type), intent(in) :: c
    type(variable_type), allocatable :: list(:)
    integer :: n

    allocate (list(2 + c%plot_fields + level_variables + c%results_fields + c%history_fields + scalar_variables))
    n = 0
    call add_group(list, n, 'plot', plot_table, c%plot_fields, s_plot, plot_id, t_f32, 0)
    call add_group(list, n, 'levels', levels_table, level_variables, s_results, levels_id, t_f32, c%results_levels)
    call add_group(list, n, 'field', fields_table, c%results_fields, s_results, fields_id, t_f64, 0)
    list(n + 1) = variable_type('topography', 'm', s_results, static_ids(1), t_f32, 0)
    list(n + 2) = variable_type('land_mask', '1', s_results, static_ids(2), t_i8, 0)
    n = n + 2
    call add_group(list, n, 'state', history_table, c%history_fields, s_history, history_id, t_f64, 0)
    call add_group(list, n, 'scalar', scalar_table, scalar_variables, s_history, scalar_id, t_f64, -1)
  end function

  !> More fields than the table names are called PREFIX_NN.
  subroutine add_group(list, n, prefix, table, count, stream, first_id, element_type, levels)
    type(variable_type), intent(inout) :: list(:)
    integer, intent(inout) :: n
    character(*), intent(in) :: prefix, table(:, :)
    integer, intent(in) :: count, stream, first_id, levels
    integer(int32), intent(in) :: element_type
    integer :: i

    do i = 1, count
      n = n + 1
      list(n) = variable_type('', '1', stream, first_id + i, element_type, int(levels, int32))
      if (i <= size(table, 2)) then
        list(n)%name = table(1, i)
        list(n)%units = table(2, i)(:16)
      else
        write (list(n)%name, '(a, "_", i2.2)') prefix, i
      end if
    end do
  end subroutine

end module
