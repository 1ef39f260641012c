/** Why an attempt of a delivery failed, as stored and shown: each code with its explanation. */
export const attemptErrors = {
  unsuccessful_status: 'The endpoint did not respond with a 2xx status.',
  redirect: 'The endpoint responded with a redirect, which is not followed.',
  timeout: 'The response was not complete after 15 seconds.',
  dns_failed: "The endpoint's host name could not be resolved.",
  connection_failed: 'No connection could be made to the endpoint.',
  connection_closed: 'The endpoint closed the connection before the response was complete.',
  tls_failed: 'No secure connection could be made, for example because of an invalid certificate.',
  invalid_response: 'The response was not valid HTTP.',
  address_not_public: 'The endpoint is not on the public internet.',
  https_required: 'The URL of the endpoint does not begin with https://.',
  not_sent: 'The service could not send the request.',
  interrupted: 'The worker ended during the attempt. The endpoint may have received the request.',
} as const;

export type AttemptError = keyof typeof attemptErrors;
