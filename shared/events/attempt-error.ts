/**
 * Why an attempt of a delivery failed, as stored and shown:
 * - `unsuccessful_status`, `redirect`: the endpoint responded with another status than 2xx.
 * - `timeout`: the response was not complete in time.
 * - `dns_failed`, `connection_failed`, `tls_failed`: no connection was made.
 * - `connection_closed`, `invalid_response`: the response was incomplete or not HTTP.
 * - `address_not_public`, `https_required`: refused in production.
 * - `not_sent`: the request could not be built, for example because a secret cannot be decrypted.
 * - `interrupted`: the worker died; prisma/functions/claim_deliveries.sql writes it.
 */
export type AttemptError =
  | 'unsuccessful_status'
  | 'redirect'
  | 'timeout'
  | 'dns_failed'
  | 'connection_failed'
  | 'tls_failed'
  | 'connection_closed'
  | 'invalid_response'
  | 'address_not_public'
  | 'https_required'
  | 'not_sent'
  | 'interrupted';
