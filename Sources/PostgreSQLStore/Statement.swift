#if PostgreSQL
    internal import Foundation

    /// A statement and its parameters, which never become part of its text.
    struct Statement: Sendable {
        /// A value, sent in binary form.
        enum Parameter: Sendable {
            case text(String)
            case bytes(Data)
            case texts([String])

            /// The OID of the type, which is the same in every database.
            var type: UInt32 {
                switch self {
                case .text: 25
                case .bytes: 17
                case .texts: 1009
                }
            }

            var binary: Data {
                switch self {
                case .text(let text): Data(text.utf8)
                case .bytes(let bytes): bytes
                case .texts(let texts): Self.array(texts)
                }
            }

            /// An array of one dimension, as PostgreSQL's `array_recv` reads it.
            private static func array(_ texts: [String]) -> Data {
                var data = Data()
                func append(_ number: Int) {
                    withUnsafeBytes(of: Int32(clamping: number).bigEndian) {
                        data.append(contentsOf: $0)
                    }
                }
                // Dimensions, whether there are NULLs, and the type of the elements.
                append(texts.isEmpty ? 0 : 1)
                append(0)
                append(25)
                if texts.isEmpty { return data }
                // The count, and the index of the first.
                append(texts.count)
                append(1)
                for text in texts {
                    append(text.utf8.count)
                    data.append(contentsOf: text.utf8)
                }
                return data
            }
        }

        /// Literal: nothing that is known only at run time can be in it.
        let sql: StaticString
        let parameters: [Parameter]

        init(_ sql: StaticString, _ parameters: Parameter...) {
            self.sql = sql
            self.parameters = parameters
        }
    }

    /// The rows that a statement returned, in binary form.
    struct Rows: Sendable {
        var values: [[Data?]] = []

        var isEmpty: Bool { values.isEmpty }
    }

    extension Data {
        /// The integer that these bytes are, the most significant first.
        var bigEndianInteger: Int { reduce(0) { $0 << 8 | Int($1) } }

        var text: String { String(decoding: self, as: UTF8.self) }
    }
#endif
