"""The two parts of the wire that are not JSON: the protobuf in which kubectl asks for its rights, and TLS."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import ssl
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def attributes_of(body) -> dict:
    """resourceAttributes of a SelfSubjectAccessReview; sent as protobuf in an envelope (magic, runtime.Unknown), or as JSON."""
    if not body.startswith(b"k8s\0"):
        try:
            return (json.loads(body).get("spec") or {}).get("resourceAttributes") or {}
        except AttributeError as error:
            raise ValueError("a list, a number or a text") from error
    attributes = _field(_field(_field(body[4:], 2), 2), 1)  # Unknown.raw, .spec, .resourceAttributes
    return {name: _field(attributes, number).decode() for number, name in ((2, "verb"), (3, "group"), (5, "resource"))}


def _field(message: bytes, wanted: int) -> bytes:
    """A length-delimited field of a protobuf message, empty where it has none; all that is read here has no others."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value, shift, at = value | (message[at] & 0x7F) << shift, shift + 7, at + 1
            if message[at - 1] < 0x80:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 != 2:
            number()
            continue
        size = number()
        at += size
        if tag >> 3 == wanted:
            return message[at - size : at]
    return b""


def certify(http) -> str:
    """TLS for the server, since kubectl sends no token without; the certificate as base64."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
    )
    made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    pem = made.public_bytes(serialization.Encoding.PEM)
    shape = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pem + key.private_bytes(*shape))
        file.flush()
        context.load_cert_chain(file.name)
    http.socket = context.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
    return base64.b64encode(pem).decode()
