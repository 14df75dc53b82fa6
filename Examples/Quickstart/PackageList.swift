import Foundation

/// A list of packages in Debian's format, such as the list of installed packages that `dpkg` keeps.
struct PackageList {
    /// The name of the list in reports.
    let name: String
    /// The bytes of the file.
    let data: Data
    let packages: [DebianPackage]
    /// The number of stanzas about something else, which are omitted.
    let otherStanzas: Int

    static let systemPath = "/var/lib/dpkg/status"

    /// Reads the file from the options, this machine's own list, or the sample.
    ///
    /// - Throws: `Failure` for a file that cannot be read or is not a list of packages.
    init(for options: Options) throws {
        if let path = options.path {
            try self.init(contentsOf: URL(fileURLWithPath: path))
        } else if !options.usesSample, FileManager.default.fileExists(atPath: Self.systemPath) {
            try self.init(contentsOf: URL(fileURLWithPath: Self.systemPath))
        } else if let url = Bundle.module.url(forResource: "packages", withExtension: "sample") {
            try self.init(contentsOf: url, name: "the sample")
        } else {
            throw Failure("the sample is missing from the resources of this program")
        }
    }

    private init(contentsOf url: URL, name: String? = nil) throws {
        self.name = name ?? url.path
        data = try Self.read(url)
        var parser = ControlFileParser()
        do {
            try parser.parse(data)
        } catch let error as ControlFileParser.MalformedLine {
            throw Failure(
                "\"\(url.path)\" is no list of packages: line \(error.number) is neither a field "
                    + "nor the continuation of one")
        }
        packages = parser.stanzas.compactMap { DebianPackage(fields: $0) }
        otherStanzas = parser.stanzas.count - packages.count
        guard !packages.isEmpty else {
            throw Failure("\"\(url.path)\" is no list of packages: it has no field \"Package\"")
        }
    }

    /// Larger than any real list; the file is held in memory.
    private static let sizeLimit = 256 << 20

    private static func read(_ url: URL) throws -> Data {
        let path = url.resolvingSymlinksInPath().path
        let data: Data
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            switch attributes[.type] as? FileAttributeType {
            case .typeRegular?: break
            case .typeDirectory?: throw Failure("\"\(url.path)\" is a directory")
            case .typeSymbolicLink?: throw Failure("\"\(url.path)\" is a link to nowhere")
            // Reading a device or a pipe might never end.
            default: throw Failure("\"\(url.path)\" is not a regular file")
            }
            guard let size = attributes[.size] as? Int, size <= sizeLimit else {
                throw Failure("\"\(url.path)\" is larger than \(Units.bytes(sizeLimit))")
            }
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch let error as CocoaError {
            throw Failure("cannot read \"\(url.path)\": \(error.reason)")
        }
        guard !data.isEmpty else { throw Failure("\"\(url.path)\" is empty") }
        return data
    }
}

extension CocoaError {
    /// The few reasons that users encounter, with the same wording on every platform.
    var reason: String {
        switch code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "there is no such file or directory"
        case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
        case .fileWriteOutOfSpace: "the disk is full"
        default: localizedDescription
        }
    }
}
