import Foundation
import StoreChecks
import ObjectStores
import SecureMirror
import SecureStorage
import SecureSync
import TestSupport

// What the tests of mirrors and of sync kill, or run beside themselves. An error ends it with its
// text.
//
//     StoreWork app PATH PLACE FILE LARGE    an app with a mirror, until it is killed
//     StoreWork race PATH PLACE ROUNDS       an app that ends when another takes over
//     StoreWork write PATH COUNT             an app without one
//     StoreWork change-key PATH KEY          to a number for each byte
//     StoreWork restore PLACE PATH TIME      the newest state and an earlier one, in turns
//     StoreWork create DIRECTORY PREFIX      objects, until it is killed
//     StoreWork sync FOLDER PLACE NAME PORT   a member of a group, until it is killed
let arguments = Array(CommandLine.arguments.dropFirst())

// Not longer than the tests, however these end.
let parent = getppid()
Thread.detachNewThread {
    while getppid() == parent { usleep(200_000) }
    exit(3)
}

func place(_ index: Int) throws -> MirrorPlace {
    guard let place = MirrorPlace(arguments[index]) else { throw Failure("no place") }
    return place
}

do {
    switch arguments.first {
    case "app":
        try await App(arguments[1], place(2), isLarge: arguments[4] == "1")
            .run(NumberFile(URL(fileURLWithPath: arguments[3])))
    case "race":
        try await App(arguments[1], place(2), isLarge: false).race(rounds: Int(arguments[3]) ?? 0)
    case "write":
        try await App.write(arguments[1], count: Int(arguments[2]) ?? 0)
    case "change-key":
        try App.changeKey(arguments[1], to: UInt8(arguments[2]) ?? 0)
    case "restore":
        try await restore(place(1), to: arguments[2], orAt: Double(arguments[3]) ?? 0)
    case "create":
        try await create(in: arguments[1], prefix: arguments[2])
    case "sync":
        try await sync(
            in: URL(fileURLWithPath: arguments[1]), place(2), as: arguments[3],
            port: UInt16(arguments[4]) ?? 0)
    default:
        exit(2)
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}

func restore(_ place: MirrorPlace, to path: String, orAt time: Double) async throws {
    let store = try place.store()
    while true {
        for point in [.latest, .date(Date(timeIntervalSince1970: time))]
            as [DatabaseMirror.Point]
        {
            try await DatabaseMirror.restore(
                place.name, from: store, to: URL(fileURLWithPath: path),
                key: .raw(SecretBytes(copying: TemporaryDatabase.key)), at: point,
                replacing: true)
        }
    }
}

func create(in directory: String, prefix: String) async throws {
    let store = DirectoryObjectStore(directory: URL(fileURLWithPath: directory))
    for number in 0... {
        let size = number % 3 == 2 ? 300_000 : number * 7 % 5000
        let name = "\(prefix)/\(number)"
        guard try await store.create(name, PatternBytes.of(name, count: size)) else {
            throw Failure("\(name) exists")
        }
    }
}
