// swift-tools-version: 6.1
import PackageDescription

// A stand-in for swift-sqlcipher with its product, its traits and its default traits, as in the
// manifest of version 1.13: an option that is turned on is built in, and a function that it omits
// is missing. `Scripts/check-trait` adds SQLCipher's sqlite3.c and sqlite3.h; OpenSSL replaces
// LibTomCrypt.

let defaults = [
    "DEFAULT_MEMSTATUS_0", "DEFAULT_WAL_SYNCHRONOUS_1", "DQS_0", "ENABLE_CARRAY",
    "ENABLE_COLUMN_METADATA", "ENABLE_DBSTAT_VTAB", "ENABLE_FTS5", "ENABLE_MATH_FUNCTIONS",
    "ENABLE_PERCENTILE", "ENABLE_PREUPDATE_HOOK", "ENABLE_RTREE", "ENABLE_SESSION",
    "ENABLE_SNAPSHOT", "ENABLE_STAT4", "ENABLE_STMTVTAB", "LIKE_DOESNT_MATCH_BLOBS",
    "MAX_EXPR_DEPTH_0", "OMIT_DEPRECATED", "OMIT_PROGRESS_CALLBACK", "OMIT_SHARED_CACHE",
    "STRICT_SUBTYPE_1", "THREADSAFE_1", "USE_ALLOCA",
]
let others = [
    "DQS_1", "DQS_2", "DQS_3", "ENABLE_BYTECODE_VTAB", "ENABLE_DBPAGE_VTAB", "ENABLE_FTS4",
    "ENABLE_GEOPOLY", "ENABLE_NORMALIZE", "OMIT_AUTOINIT", "OMIT_DECLTYPE", "THREADSAFE_0",
    "THREADSAFE_2",
]

/// `THREADSAFE_2` is `-DSQLITE_THREADSAFE=2`, `ENABLE_FTS5` is `-DSQLITE_ENABLE_FTS5`.
func define(_ trait: String) -> CSetting {
    var words = trait.split(separator: "_")
    guard let last = words.last, Int(last) != nil else {
        return .define("SQLITE_" + trait, .when(traits: [trait]))
    }
    words.removeLast()
    return .define(
        "SQLITE_" + words.joined(separator: "_"), to: String(last), .when(traits: [trait]))
}

// The options that it sets whatever the traits are.
let always: [CSetting] = [
    .define("SQLITE_HAS_CODEC"), .define("SQLCIPHER_CRYPTO_OPENSSL"),
    .define("SQLITE_ENABLE_API_ARMOR"), .define("SQLITE_ENABLE_MEMORY_MANAGEMENT"),
    .define("SQLITE_ENABLE_UNKNOWN_SQL_FUNCTION"), .define("SQLITE_ENABLE_UNLOCK_NOTIFY"),
    .define("SQLITE_MAX_VARIABLE_NUMBER", to: "250000"), .define("SQLITE_SECURE_DELETE"),
    .define("SQLITE_USE_URI"), .define("SQLITE_HOMEGROWN_RECURSIVE_MUTEX"),
    .define("SQLITE_TEMP_STORE", to: "2"), .define("HAVE_STDINT_H"), .define("HAVE_ISNAN", to: "1"),
    .define("HAVE_UTIME", to: "1"), .define("HAVE_STRCHRNUL", to: "1", .when(platforms: [.linux])),
]

let package = Package(
    name: "swift-sqlcipher",
    products: [.library(name: "SQLCipher", targets: ["SQLCipher"])],
    traits: Set(
        (defaults + others).map { name in
            name == "ENABLE_SESSION"
                ? .trait(name: name, enabledTraits: ["ENABLE_PREUPDATE_HOOK"]) : .trait(name: name)
        } + [.default(enabledTraits: Set(defaults))]),
    targets: [
        .target(
            name: "SQLCipher", exclude: ["amalgamation"], sources: ["sqlite"],
            publicHeadersPath: "sqlite",
            cSettings: [.headerSearchPath("amalgamation")] + always
                + (defaults + others).map(define),
            linkerSettings: [.linkedLibrary("crypto")])
    ]
)
