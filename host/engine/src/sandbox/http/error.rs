//! Failures in the words of `wasi:http`.

use super::types::{DnsErrorPayload, ErrorCode, TlsAlertReceivedPayload};
use crate::egress::{Code, Failure};

/// What the guest is told.
pub(super) fn error_code(failure: &Failure) -> ErrorCode {
    match &failure.code {
        Code::Refused { .. } => ErrorCode::HttpRequestDenied,
        Code::DestinationIpProhibited => ErrorCode::DestinationIpProhibited,
        Code::DnsTimeout => ErrorCode::DnsTimeout,
        Code::DnsError => ErrorCode::DnsError(DnsErrorPayload { rcode: None, info_code: None }),
        Code::ConnectionRefused => ErrorCode::ConnectionRefused,
        Code::ConnectionTimeout => ErrorCode::ConnectionTimeout,
        Code::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Code::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Code::DestinationUnavailable => ErrorCode::DestinationUnavailable,
        Code::TlsProtocolError => ErrorCode::TlsProtocolError,
        Code::TlsCertificateError => ErrorCode::TlsCertificateError,
        Code::TlsAlertReceived => {
            let alert_message = Some(failure.why.clone());
            ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload { alert_id: None, alert_message })
        }
        Code::RequestMethodInvalid => ErrorCode::HttpRequestMethodInvalid,
        Code::RequestUriInvalid => ErrorCode::HttpRequestUriInvalid,
        Code::RequestBodySize => ErrorCode::HttpRequestBodySize(None),
        Code::ResponseTimeout => ErrorCode::HttpResponseTimeout,
        Code::ResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Code::ResponseHeaderSectionSize => ErrorCode::HttpResponseHeaderSectionSize(None),
        Code::ResponseBodySize => ErrorCode::HttpResponseBodySize(None),
        Code::ResponseTrailerSectionSize => ErrorCode::HttpResponseTrailerSectionSize(None),
        Code::ResponseContentCoding => ErrorCode::HttpResponseContentCoding(None),
        Code::ProtocolError => ErrorCode::HttpProtocolError,
        Code::ConfigurationError => ErrorCode::ConfigurationError,
        Code::InDoubt | Code::Internal => ErrorCode::InternalError(Some(failure.why.clone())),
    }
}
