import nodemailer from 'nodemailer';
import { readWorkers } from '#shared/health/heartbeat.ts';
import { serviceTime, storeTroubleOf } from '#shared/platform/database.ts';
import { about, type Check } from './finding.ts';

/** A code of a second factor is valid for this long. */
const longestDeviationMs = 30_000;

/** The clock of this machine beside that of the database. */
export const checkClock: Check = async ({ db }) => {
  const clock = about('clock');
  const deviationMs = Math.abs((await serviceTime(db)).getTime() - Date.now());
  const seconds = Math.round(deviationMs / 1_000);
  if (deviationMs < longestDeviationMs)
    return [clock.right(`It differs by ${seconds} s from the database's.`)];
  return [
    clock.warning(`It differs by ${seconds} s from the database's: synchronize both machines with NTP.`),
  ];
};

/** The workers, and whether they may send. */
export const checkWorkers: Check = async ({ db }) => {
  const workers = about('workers');
  const { alive, heldSince } = await readWorkers(db);
  return [
    alive === 0
      ? workers.wrong('None runs, so refunds are accepted and not sent: start one.')
      : workers.right(`${alive} run.`),
    ...(heldSince === null
      ? []
      : [workers.wrong('The database was restored, so nothing is sent: see docs/operations/restore.md.')]),
  ];
};

/** The addresses that people and proxies use. */
export const checkAddresses: Check = async ({ settings: { PUBLIC_URL, TRUSTED_PROXIES } }) => {
  const [address, proxies] = [about('PUBLIC_URL'), about('TRUSTED_PROXIES')];
  const isOpen = PUBLIC_URL !== null && !PUBLIC_URL.startsWith('https://');
  return [
    PUBLIC_URL === null
      ? address.warning(
          'It is not set, so mails and messages have no links: set it to the address for people.',
        )
      : isOpen
        ? address.warning(`${PUBLIC_URL} is not encrypted: put a proxy with TLS in front.`)
        : address.right(PUBLIC_URL),
    TRUSTED_PROXIES === null
      ? proxies.warning(
          'It is not set. In production the API requires it: the addresses of the proxies in front, or none.',
        )
      : proxies.right(TRUSTED_PROXIES.join(', ') || 'none'),
  ];
};

const mailSilenceMs = 10_000;

/** Signs in at the mail server, without sending anything. */
export const checkMail: Check = async ({ settings: { SMTP_URL } }) => {
  const mail = about('mail');
  if (SMTP_URL === null) return [mail.right('It is not used: SMTP_URL is not set.')];
  const limits = {
    connectionTimeout: mailSilenceMs,
    greetingTimeout: mailSilenceMs,
    socketTimeout: mailSilenceMs,
  };
  const server = nodemailer.createTransport({ url: SMTP_URL, ...limits });
  try {
    await server.verify();
    return [mail.right('The mail server accepts the sign-in.')];
  } catch (error) {
    const { message, responseCode } = error as Error & { responseCode?: number };
    if (responseCode !== undefined) return [mail.wrong(`The mail server refuses it: ${message}`)];
    return [mail.wrong(`The mail server cannot be used. ${storeTroubleOf(error) ?? message}`)];
  } finally {
    server.close();
  }
};
