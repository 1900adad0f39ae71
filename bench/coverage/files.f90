! Files by Fortran's own statements. Every number that is written is read back; status 1: it was wrong.
program files
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    real(real64) :: values(10000), back(10000)
    integer :: unit, i, number
    logical :: there

    values = [(real(i, real64)/3, i=1, size(values))]
    open (newunit=unit, file="sequential", form="unformatted", action="readwrite")
    write (unit) values
    rewind (unit)
    read (unit) back
    close (unit)
    if (any(back /= values)) error stop 1

    open (newunit=unit, file="direct", form="unformatted", access="direct", recl=8000)
    do i = 10, 1, -1
        write (unit, rec=i) values((i - 1)*1000 + 1:i*1000)
    end do
    do i = 1, 10
        read (unit, rec=i) back((i - 1)*1000 + 1:i*1000)
    end do
    close (unit)
    if (any(back /= values)) error stop 1

    open (newunit=unit, file="stream", form="unformatted", access="stream")
    write (unit) values
    read (unit, pos=1) back
    close (unit)
    if (any(back /= values)) error stop 1

    open (newunit=unit, file="text", action="readwrite")
    write (unit, "(i8)") [(i, i=1, 5000)]
    flush (unit)
    rewind (unit)
    do i = 1, 5000
        read (unit, *) number
        if (number /= i) error stop 1
    end do
    close (unit, status="delete")
    inquire (file="text", exist=there)
    if (there) error stop 1
    print "(a)", "as it was written"
end program files
