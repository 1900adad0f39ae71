# Of tests/test_placed_programs.py: a cavity of 400 cells on 2 ranks, two runs of icoFoam.
export WM_PROJECT_DIR=/usr/share/openfoam FOAM_SIGFPE=false
head() { echo "FoamFile { version 2.0; format ascii; class $1; object $2; }"; }
mkdir -p 0 constant system
{ head dictionary controlDict; cat <<END
application icoFoam; startFrom latestTime; startTime 0; stopAt endTime; endTime 0.02; deltaT 0.005;
writeControl timeStep; writeInterval 2; purgeWrite 0; writeFormat binary; writePrecision 6; writeCompression off;
timeFormat general;
END
} > system/controlDict
{ head dictionary fvSchemes; cat <<END
ddtSchemes { default Euler; } gradSchemes { default Gauss linear; } divSchemes { default Gauss linear; }
laplacianSchemes { default Gauss linear orthogonal; } interpolationSchemes { default linear; }
snGradSchemes { default orthogonal; }
END
} > system/fvSchemes
{ head dictionary fvSolution; cat <<'END'
solvers { p { solver PCG; preconditioner DIC; tolerance 1e-06; relTol 0; } pFinal { $p; }
U { solver smoothSolver; smoother symGaussSeidel; tolerance 1e-05; relTol 0; } }
PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }
END
} > system/fvSolution
{ head dictionary decomposeParDict; cat <<END
numberOfSubdomains 2; method simple; simpleCoeffs { n (2 1 1); delta 0.001; }
END
} > system/decomposeParDict
{ head dictionary blockMeshDict; cat <<END
scale 0.1; vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 0.1) (1 0 0.1) (1 1 0.1) (0 1 0.1));
blocks (hex (0 1 2 3 4 5 6 7) (20 20 1) simpleGrading (1 1 1)); edges ();
boundary (lid { type wall; faces ((3 7 6 2)); }
walls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0)); }
sides { type empty; faces ((0 3 2 1) (4 5 6 7)); });
END
} > system/blockMeshDict
{ head dictionary transportProperties; echo 'nu 0.01;'; } > constant/transportProperties
{ head volScalarField p; cat <<END
dimensions [0 2 -2 0 0 0 0]; internalField uniform 0;
boundaryField { lid { type zeroGradient; } walls { type zeroGradient; } sides { type empty; } }
END
} > 0/p
{ head volVectorField U; cat <<END
dimensions [0 1 -1 0 0 0 0]; internalField uniform (0 0 0);
boundaryField { lid { type fixedValue; value uniform (1 0 0); } walls { type noSlip; } sides { type empty; } }
END
} > 0/U
blockMesh > /dev/null
decomposePar > /dev/null
mpirun -n 2 icoFoam -parallel > /dev/null
sed -i 's/endTime 0.02/endTime 0.04/' system/controlDict
mpirun -n 2 icoFoam -parallel > /dev/null
reconstructPar -latestTime > /dev/null
ls
