# fluidc links neither gRPC nor BLAS (it must start in a millisecond, and install anywhere); fluidrun links both.
set -eu
libs=$(ldd "$FLUIDC")
case $libs in *grpc* | *blas* | *libz.*) echo "fluidc links too much:"; echo "$libs"; exit 1;; esac
case $libs in *protobuf-c*) ;; *) echo "this is not how fluidc is linked:"; echo "$libs"; exit 1;; esac
libs=$(ldd "$FLUIDRUN")
case $libs in *grpc*blas* | *blas*grpc*) ;; *) echo "fluidrun lacks gRPC or BLAS:"; echo "$libs"; exit 1;; esac
