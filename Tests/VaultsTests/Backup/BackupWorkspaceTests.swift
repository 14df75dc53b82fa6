import Foundation
import TestSupport
import Testing

@testable import Vaults

/// The hidden directory of a backup that is being made.
struct BackupWorkspaceTests {
    private let place: TemporaryDatabase

    init() throws { place = try TemporaryDatabase() }

    @Test func `a directory that has been emptied has one descriptor, and none when it is gone`()
        throws
    {
        let root = place.directory.resolvingSymlinksInPath().path
        do {
            let workspace = try BackupWorkspace(for: place.url)
            for _ in 1...3 {
                try Data([1]).write(to: workspace.url("draft"))
                try workspace.empty()
            }
            check(Descriptors.count(below: root), equals: 1)
            withExtendedLifetime(workspace) {}
        }
        check(Descriptors.count(below: root), equals: 0)
        try check(place.fileNames(), equals: [])
    }
}
