import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** For a TLS server, both as PEM. */
export interface Certified {
  key: string;
  cert: string;
}

/** Issues certificates that nothing trusts but what is given its own. */
export interface CertificateAuthority {
  /** Its own certificate, as PEM. */
  certificate: string;
  /** A certificate for hosts, by their names. */
  issue(...hosts: string[]): Certified;
}

/** Makes an authority with a new key. Node signs, but writes no certificates: the few fields that a certificate needs are written here. */
export function newCertificateAuthority(name: string): CertificateAuthority {
  const own = newKeys();
  const issued = (subject: string, key: KeyObject, extensions: Buffer[]) =>
    certificate({ issuer: name, subject, key, signer: own.privateKey, extensions });
  return {
    certificate: issued(name, own.publicKey, [isAuthority]),
    issue(...hosts) {
      const { publicKey, privateKey } = newKeys();
      const cert = issued(hosts[0] ?? name, publicKey, [namesOf(hosts)]);
      return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, cert };
    },
  };
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Content {
  issuer: string;
  subject: string;
  key: KeyObject;
  signer: KeyObject;
  extensions: Buffer[];
}

/** RFC 5280, section 4.1. */
function certificate({ issuer, subject, key, signer, extensions }: Content): string {
  const version3 = tagged(0xa0, tagged(0x02, Buffer.from([2])));
  const serial = tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)]));
  const validity = sequence(time('20200101000000Z'), time('21200101000000Z'));
  const publicKey = key.export({ type: 'spki', format: 'der' });
  const toSign = sequence(
    ...[version3, serial, ecdsaWithSha256, nameOf(issuer), validity, nameOf(subject), publicKey],
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', toSign, signer);
  const der = sequence(toSign, ecdsaWithSha256, tagged(0x03, Buffer.from([0]), signature));
  const lines = der.toString('base64').replaceAll(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

/** DER: a tag, the length of the content, the content. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => tagged(0x30, ...parts);
const time = (text: string) => tagged(0x18, Buffer.from(text));
const identifier = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'));

const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));
/** Basic constraints: true for an authority. */
const isAuthority = sequence(identifier('551d13'), tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff])))));

/** A common name. */
const nameOf = (text: string) =>
  sequence(tagged(0x31, sequence(identifier('550403'), tagged(0x0c, Buffer.from(text)))));

/** Alternative names: those of DNS. */
const namesOf = (hosts: readonly string[]) =>
  sequence(
    identifier('551d11'),
    tagged(0x04, sequence(...hosts.map((host) => tagged(0x82, Buffer.from(host))))),
  );
