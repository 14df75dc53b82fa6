import Foundation

@testable import S3Store

/// Reads an input as the body of an answer of S3: a list, a removal, a refusal.
struct S3Target: FuzzTarget {
    private let address: S3Address
    private static let secret = "milk and honey"

    init() throws {
        address = try S3Address(
            endpoint: URL(string: "http://localhost:9000"), bucket: "bucket", prefix: "",
            region: "us-east-1", style: .path)
    }

    func run(_ input: Data) throws {
        readFailure(input)
        guard let root = S3Element(input) else {
            precondition(
                S3Page(input) == nil && S3Removal.failures(input) == nil, "an answer is no XML")
            return
        }
        precondition(depth(of: root) <= 16, "elements are deeper than is read")
        precondition(
            !input.contains(0) && input.range(of: Data("<!DOCTYPE".utf8)) == nil,
            "a declaration is read")
        // Attributes are not kept, so a prefix would have no namespace any more.
        if !hasPrefix(root) { readAgain(root) }
        if let page = S3Page(input) {
            precondition(root.name == "ListBucketResult", "another document is a list")
            precondition(page.entries.count == root.all("Contents").count, "entries are lost")
            precondition(page.entries.allSatisfy { $0.size >= 0 }, "an object has no size")
        }
        if let failures = S3Removal.failures(input) {
            precondition(root.name == "DeleteResult", "another document is an answer")
            precondition(failures.count == root.all("Error").count, "failures are lost")
        }
    }

    /// What was read, written plainly, is the same.
    private func readAgain(_ root: S3Element) {
        let written = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + text(of: root)
        guard let again = S3Element(Data(written.utf8)) else {
            preconditionFailure("an element that was read is not read again")
        }
        precondition(isSame(again, root), "an element is read in two ways")
    }

    private func readFailure(_ input: Data) {
        for status in [200, 301, 403, 404, 409, 500] {
            let answer = S3Answer(
                status: status,
                headers: ["x-amz-bucket-region": String(decoding: input, as: UTF8.self)],
                body: input)
            let failure = S3Failure(answer)
            precondition(failure.code.unicodeScalars.count <= 60, "a code has no end")
            let error = failure.error(address, hiding: Self.secret)
            guard case .failed(let code, let message, let isTransient) = error else {
                preconditionFailure("another error")
            }
            precondition(isTransient == failure.isTransient)
            precondition(!message.contains(Self.secret), "a secret is in an error")
            for text in [code, message] {
                precondition(
                    text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
                    "an error has control characters")
            }
        }
    }

    // MARK: - Elements

    private func hasPrefix(_ element: S3Element) -> Bool {
        element.name.contains(":") || element.children.contains { hasPrefix($0) }
    }

    private func depth(of element: S3Element) -> Int {
        1 + (element.children.map { depth(of: $0) }.max() ?? 0)
    }

    /// Names and texts are compared by their bytes; Swift's own comparison ignores some of them.
    private func isSame(_ left: S3Element, _ right: S3Element) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8)
            && left.text.utf8.elementsEqual(right.text.utf8)
            && left.children.count == right.children.count
            && zip(left.children, right.children).allSatisfy { isSame($0, $1) }
    }

    private func text(of element: S3Element) -> String {
        let text = element.text
            .replacingOccurrences(of: "&", with: "&amp;")
            .replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;")
            .replacingOccurrences(of: "\r", with: "&#13;")
        let children = element.children.map { self.text(of: $0) }.joined()
        return "<\(element.name)>\(text)\(children)</\(element.name)>"
    }
}
