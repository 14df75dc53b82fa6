/// What the copied sources call to find out which mutant is on.
enum MutantSwitch {
    /// The environment variable with the number of the mutant.
    static let variable = "MUTANT"
    /// The environment variable with the path of a file that says which mutants were reached.
    ///
    /// It has a byte for each. Programs that a test starts share it, and a kill loses nothing.
    static let reachVariable = "MUTANTS_REACHED"

    static let header = "Sources/CSecureStoragePlatform/include/CSecureStoragePlatform.h"
    static let declaration = "\n#include <stdbool.h>\nbool cplatform_is_mutant(long number);\n"

    /// Returns the files that the copy has beside those of the package, by their paths.
    static func files(libraries: Set<String>) -> [String: String] {
        var files = ["Sources/CSecureStoragePlatform/Mutants.c": definition]
        // Public, since default arguments and inlinable functions of the library call it.
        for library in libraries {
            files["Sources/\(library)/Mutants.swift"] = """
                internal import CSecureStoragePlatform

                public func isMutant(_ number: Int) -> Bool { cplatform_is_mutant(number) }

                """
        }
        return files
    }

    /// System calls without the C library, since tests have their own versions of its functions.
    private static let definition = """
        #define _GNU_SOURCE 1
        #include "CSecureStoragePlatform.h"
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        static long active = -1;
        static volatile unsigned char *reached;

        __attribute__((constructor)) static void prepare(void) {
            const char *number = getenv("\(variable)");
            if (number) active = atol(number);
            const char *path = getenv("\(reachVariable)");
            if (!path) return;
            long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
            if (file < 0) return;
            long size = syscall(SYS_lseek, file, 0L, SEEK_END);
            long access = PROT_READ | PROT_WRITE;
            long map = syscall(SYS_mmap, 0L, size, access, (long)MAP_SHARED, file, 0L);
            syscall(SYS_close, file);
            if (map != -1) reached = (unsigned char *)map;
        }

        bool cplatform_is_mutant(long number) {
            if (reached) reached[number] = 1;
            return number == active;
        }

        """
}
