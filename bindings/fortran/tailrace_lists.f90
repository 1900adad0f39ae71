!> Where the elements of an array belong in their variable: from one element on, or at a list of indices of one dimension.
module tailrace_lists
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_loc, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_contract, only: contract_get_indices, contract_put_indices, TAILRACE_BAD_SHAPE, TAILRACE_OK
  use tailrace_definitions, only: check_type_and_rank, inquire, known_variable, number_of_dim
  use tailrace_message, only: caller, decimal, decimal_list, of_reader, refuse, terminated
  use tailrace_view, only: array_view, hyperslab, hyperslab_of
  implicit none
  private
  public :: block_place, from_start, under_indices, is_list, hand_over_list

  !> Indices count from 1.
  type :: block_place
    integer(c_int64_t), allocatable :: start(:)    ! empty: from the first element on
    integer(c_int64_t), allocatable :: indices(:)  ! allocated: a list along the dimension `along`
    character(:), allocatable :: along
  end type

contains

  pure function from_start(start) result(place)
    integer(int64), intent(in) :: start(:)
    type(block_place) :: place

    allocate (place%start, source=start)
  end function

  pure function under_indices(indices, along) result(place)
    integer(int64), intent(in) :: indices(:)
    character(*), intent(in) :: along
    type(block_place) :: place

    allocate (place%indices, source=indices)
    place%along = along
  end function

  pure function is_list(place)
    type(block_place), intent(in) :: place
    logical :: is_list

    is_list = allocated(place%indices)
  end function

  !> Checks an array against its variable and its list, and hands it to C: to put it, or to read into it. Reading is collective, and
  !> a rank whose array does not fit still takes part.
  subroutine hand_over_list(of, var, view, place, status)
    type(caller), intent(in) :: of
    character(*), intent(in) :: var
    type(array_view), intent(in) :: view
    type(block_place), intent(in) :: place
    integer(c_int), intent(out) :: status
    type(hyperslab), target :: slab
    integer(c_int64_t), allocatable, target :: indices(:)
    integer(c_int) :: refused

    call check_list(of, var, view, place, status)
    if (status == TAILRACE_OK) then
      slab = hyperslab_of(view, [integer(c_int64_t) ::])
      indices = [place%indices - 1, 0_c_int64_t]  ! one element more than needed: an empty array has no address
      if (of_reader(of)) then
        status = contract_get_indices(of%handle, terminated(var), terminated(place%along), size(place%indices, kind=c_int64_t), &
          c_loc(indices), view%first, c_loc(slab%stride_bytes))
      else
        status = contract_put_indices(of%handle, terminated(var), terminated(place%along), size(place%indices, kind=c_int64_t), &
          c_loc(indices), view%first, c_loc(slab%stride_bytes))
      end if
    else if (of_reader(of)) then
      refused = contract_get_indices(of%handle, terminated(var), terminated(place%along), 1_c_int64_t, c_null_ptr, c_null_ptr, &
        c_null_ptr)                                  ! the other ranks are there
      call check_list(of, var, view, place, status)  ! and this text is the last one again
    end if
  end subroutine

  subroutine check_list(of, var, view, place, status)
    type(caller), intent(in) :: of
    character(*), intent(in) :: var
    type(array_view), intent(in) :: view
    type(block_place), intent(in) :: place
    integer(c_int), intent(out) :: status
    type(known_variable) :: variable
    integer(c_int64_t), allocatable :: extent(:)
    integer :: dim

    call inquire(of, var, variable, status)
    call check_type_and_rank(of, var, variable, view%element_type, view%ndims, status)
    if (status /= TAILRACE_OK .or. .not. allocated(variable%extent)) return
    dim = number_of_dim(of, variable, place%along)
    if (dim == 0) return  ! C reports the unknown dimension
    extent = variable%extent
    extent(dim) = size(place%indices, kind=int64)
    if (any(view%extent(:view%ndims) /= extent)) &
      call refuse(TAILRACE_BAD_SHAPE, "'" // trim(var) // "': an array of shape " // decimal_list(view%extent(:view%ndims)) // &
        " for " // decimal(size(place%indices, kind=int64)) // " indices along '" // trim(place%along) // &
        "'; hand over one of " // decimal_list(extent), status, of)
  end subroutine
end module
