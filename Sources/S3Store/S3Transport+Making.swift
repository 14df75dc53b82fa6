#if canImport(Darwin)
    func makeS3Transport(_ times: S3Times) -> any S3Transport { URLSessionTransport(times) }
#elseif S3
    func makeS3Transport(_ times: S3Times) -> any S3Transport { AsyncHTTPTransport(times) }
#else
    func makeS3Transport(_ times: S3Times) -> any S3Transport {
        preconditionFailure("what calls it is unavailable without the trait S3")
    }
#endif
