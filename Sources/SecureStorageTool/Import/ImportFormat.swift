internal import ArgumentParser

/// The form of what is imported.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
    case csv, json
    case jsonLines = "json-lines"
    case sql
}
