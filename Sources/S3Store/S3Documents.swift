internal import Foundation

#if canImport(FoundationXML)
    internal import FoundationXML
#endif

/// An element of S3's answers, which are small XML documents without attributes that matter.
struct S3Element {
    var name: String
    var text = ""
    var children: [S3Element] = []

    subscript(_ name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [S3Element] { children.filter { $0.name == name } }

    /// Reads a document; nil if it is not one that S3 could have sent.
    ///
    /// By Foundation's parser, which is libxml2's: it has met more broken documents than a parser
    /// of this package ever would. What could harm is refused beforehand: declarations of a type
    /// and of entities, which S3 never sends, and every encoding but UTF-8, in which these could
    /// hide. The size is limited by the transport.
    init?(_ document: Data) {
        guard Self.isPlain(document) else { return nil }
        let reader = Reader()
        let parser = XMLParser(data: document)
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        guard parser.parse(), !reader.hasFailed, let root = reader.root else { return nil }
        self = root
    }

    init(name: String) { self.name = name }

    private static func isPlain(_ document: Data) -> Bool {
        // A NUL is in every other encoding of Unicode, and in no XML in UTF-8.
        guard !document.contains(0), String(data: document, encoding: .utf8) != nil,
            document.range(of: Data("<!".utf8)) == nil
        else { return false }
        let start = String(decoding: document.prefix(200), as: UTF8.self).lowercased()
        guard let declared = start.range(of: "encoding") else { return true }
        let value = start[declared.upperBound...].drop { $0 == " " || $0 == "=" }
        return value.hasPrefix("\"utf-8\"") || value.hasPrefix("'utf-8'")
            // In a document without a declaration the word is content.
            || !start.drop { $0 == "\u{feff}" || $0.isWhitespace }.hasPrefix("<?xml")
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var root: S3Element?
        /// Whether there was anything wrong; the parser continues after some errors.
        var hasFailed = false
        private var open: [S3Element] = []

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
            qualifiedName: String?, attributes: [String: String]
        ) {
            // S3's have a depth of four.
            guard open.count < 16 else { return parser.abortParsing() }
            open.append(S3Element(name: name))
        }

        func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) { hasFailed = true }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            guard !open.isEmpty else { return }
            open[open.count - 1].text += text
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
            qualifiedName: String?
        ) {
            guard let element = open.popLast() else { return }
            if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].children.append(element)
            }
        }
    }
}

/// A page of a list: the answer to ListObjectsV2.
struct S3Page {
    var entries: [(key: String, size: Int)]
    var isTruncated: Bool

    /// Reads an answer; nil if it is not one.
    init?(_ document: Data) {
        guard let root = S3Element(document), root.name == "ListBucketResult",
            let isTruncated = root["IsTruncated"], ["true", "false"].contains(isTruncated)
        else { return nil }
        self.isTruncated = isTruncated == "true"
        let isEncoded = root["EncodingType"] == "url"
        entries = []
        for entry in root.all("Contents") {
            guard let text = entry["Key"], let size = entry["Size"].flatMap({ Int($0) }), size >= 0,
                let key = isEncoded ? Self.decoded(text) : text
            else { return nil }
            entries.append((key, size))
        }
    }

    /// Decodes a key; S3 encodes a space as `+`, as in a form.
    private static func decoded(_ text: String) -> String? {
        text.replacingOccurrences(of: "+", with: " ").removingPercentEncoding
    }
}

/// A request to remove several objects, DeleteObjects, and its answer.
enum S3Removal {
    /// Returns the body of a request.
    static func body(_ keys: [String]) -> Data {
        // The characters of names and prefixes need no escape.
        let objects = keys.map { "<Object><Key>\($0)</Key></Object>" }.joined()
        return Data(
            ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                + "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                + "<Quiet>true</Quiet>\(objects)</Delete>").utf8)
    }

    /// Returns the objects that were not removed; nil if it is not an answer.
    static func failures(_ document: Data) -> [(key: String, code: String, message: String)]? {
        guard let root = S3Element(document), root.name == "DeleteResult" else { return nil }
        return root.all("Error").map {
            ($0["Key"] ?? "", $0["Code"] ?? "Unknown", $0["Message"] ?? "")
        }
    }
}
