import Foundation

/// What the figures were measured on; nothing that names a machine.
struct Machine: Codable, Sendable {
    var processor: String
    var cores: Int
    var memoryGigabytes: Int
    var system: String
    /// What each side says of itself.
    var versions: [String: String]

    init(_ versions: [String: String]) {
        let information = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
        let model = information?.split(separator: "\n").first { $0.hasPrefix("model name") }
        processor =
            model?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
            ?? "unknown processor"
        cores = ProcessInfo.processInfo.processorCount
        memoryGigabytes = Int((Double(ProcessInfo.processInfo.physicalMemory) / 1e9).rounded())
        let release = try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)
        let name = release?.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        system =
            name?.dropFirst("PRETTY_NAME=".count).trimmingCharacters(in: ["\""])
            ?? ProcessInfo.processInfo.operatingSystemVersionString
        self.versions = versions
    }

    var summary: String { "\(processor), \(cores) cores, \(memoryGigabytes) GB, \(system)" }

    /// How many processes have wanted to run during the last minute; nil where the system does not
    /// tell.
    static var load: Double? {
        let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)
        return text?.split(separator: " ").first.flatMap { Double($0) }
    }
}
