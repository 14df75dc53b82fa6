import Foundation
import FuzzerDriver

//     Fuzz --records [arguments of libFuzzer]   runs a target until it fails, or on the named files
//     Fuzz --seeds FOLDER                       writes the initial corpus
//
// libFuzzer ignores arguments with two hyphens, and passes them to the processes that it starts.

let targets: [String: () throws -> any FuzzTarget] = [
    "--archives": { try ArchivesTarget() },
    "--batch": { try BatchTarget() },
    "--cbor": { CBORTarget() },
    "--chain": { try ChainTarget() },
    "--forgeries": { try ForgeriesTarget() },
    "--invitation": { InvitationTarget() },
    "--manifest": { try ManifestTarget() },
    "--part": { try PartTarget() },
    "--records": { try RecordsTarget() },
    "--s3": { try S3Target() },
    "--sealed": { try SealedTarget() },
    "--sql": { try SQLTarget() },
    "--values": { try ValuesTarget() },
]

let arguments = CommandLine.arguments
if arguments.count == 3, arguments[1] == "--seeds" {
    try Seeds.write(to: URL(fileURLWithPath: arguments[2], isDirectory: true))
} else if let make = arguments.lazy.compactMap({ targets[$0] }).first {
    RunningTarget.target = try make()
    var count = CommandLine.argc
    var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(
        LLVMFuzzerRunDriver(&count, &values) { bytes, count in
            RunningTarget.run(UnsafeRawBufferPointer(start: bytes, count: count))
            return 0
        })
} else {
    print("usage: Fuzz \(targets.keys.sorted().joined(separator: "|")) …, or Fuzz --seeds FOLDER")
    exit(2)
}
