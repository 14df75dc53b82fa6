import Foundation

/// The hardware and system of the measurements, without anything that identifies the machine.
struct Machine: Codable, Sendable {
    var processor: String
    var cores: Int
    var memoryGigabytes: Int
    var system: String
    /// The versions that each side reports.
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

    /// The average number of runnable processes in the last minute, or nil where the system does
    /// not report it.
    static var load: Double? {
        let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)
        return text?.split(separator: " ").first.flatMap { Double($0) }
    }
}
