import Stripe from 'stripe';
import { expect, test } from 'vitest';
import { outcomeOf } from '#shared/processors/stripe/map-error.ts';

/** Every code of the SDK, which is Stripe's list at docs.stripe.com/error-codes. */
type Code = Literal<Stripe.SetupAttempt.SetupError.Code>;
type Literal<T> = T extends string ? (string extends T ? never : T) : never;

// What a refund that is answered with the code comes to.
/** This request is refused, and nothing was applied. */
const request = { kind: 'refused' };
/** docs.stripe.com/account/approvals: the action is paused, and completed by Stripe once a reviewer approves it. */
const reviewer = { kind: 'unknown', awaitsApproval: true };
/** docs.stripe.com/api/idempotent_requests: a request with this key is running. */
const running = { kind: 'unknown' };
/** docs.stripe.com/rate-limits: another request works on the object, or the object has a limit of its own. */
const busy = { kind: 'unavailable', cause: 'payment_busy' };
/** docs.stripe.com/rate-limits: the account makes too many calls. */
const limited = { kind: 'unavailable', cause: 'rate_limited' };
/** docs.stripe.com/refunds: the balance of the account does not cover the refund. */
const balance = { kind: 'unavailable', cause: 'insufficient_balance' };
/** docs.stripe.com/error-codes: the key or the account, whatever it asks for. */
const credentials = { kind: 'misconfigured', scope: 'credentials' };
/** docs.stripe.com/account/approvals: a rule of the account blocks this refund, perhaps because of its amount. */
const object = { kind: 'misconfigured', scope: 'object' };
/** docs.stripe.com/error-codes: refunds of this account are blocked. */
const ability = { kind: 'misconfigured', scope: 'ability' };

const meanings = {
  account_closed: request,
  account_country_invalid_address: request,
  account_error_country_change_requires_additional_steps: request,
  account_information_mismatch: request,
  account_invalid: credentials,
  account_number_invalid: request,
  account_token_required_for_v2_account: request,
  acss_debit_session_incomplete: request,
  action_blocked: object,
  alipay_upgrade_required: request,
  amount_too_large: request,
  amount_too_small: request,
  anomalous_money_movement_request: ability,
  api_key_expired: credentials,
  application_fees_not_allowed: request,
  approval_required: reviewer,
  authentication_failure: request,
  authentication_required: request,
  balance_insufficient: balance,
  balance_invalid_parameter: request,
  bank_account_bad_routing_numbers: request,
  bank_account_declined: request,
  bank_account_exists: request,
  bank_account_restricted: request,
  bank_account_unusable: request,
  bank_account_unverified: request,
  bank_account_verification_failed: request,
  billing_invalid_mandate: request,
  bitcoin_upgrade_required: request,
  capability_not_active: request,
  capture_charge_authorization_expired: request,
  capture_unauthorized_payment: request,
  card_decline_rate_limit_exceeded: busy,
  card_declined: request,
  cardholder_phone_number_required: request,
  charge_already_captured: request,
  charge_already_refunded: request,
  charge_disputed: request,
  charge_exceeds_source_limit: request,
  charge_exceeds_transaction_limit: request,
  charge_expired_for_capture: request,
  charge_invalid_parameter: request,
  charge_not_refundable: request,
  clearing_code_unsupported: request,
  country_code_invalid: request,
  country_unsupported: request,
  coupon_expired: request,
  customer_max_payment_methods: request,
  customer_max_subscriptions: request,
  customer_session_expired: request,
  customer_tax_location_invalid: request,
  debit_not_authorized: request,
  dispute_evidence_page_limit_exceeded: request,
  email_invalid: request,
  expired_card: request,
  expired_payment_method: request,
  failed_tax_calculation: request,
  financial_account_balance_does_not_support_currency: request,
  financial_account_capability_not_enabled: request,
  financial_account_capability_restricted: request,
  financial_connections_account_inactive: request,
  financial_connections_account_pending_account_numbers: request,
  financial_connections_account_unavailable_account_numbers: request,
  financial_connections_consent_locale_invalid: request,
  financial_connections_consent_locale_unsupported: request,
  financial_connections_no_successful_transaction_refresh: request,
  forwarding_api_inactive: request,
  forwarding_api_invalid_parameter: request,
  forwarding_api_retryable_upstream_error: request,
  forwarding_api_upstream_connection_error: request,
  forwarding_api_upstream_connection_timeout: request,
  forwarding_api_upstream_error: request,
  idempotency_key_in_use: running,
  incorrect_address: request,
  incorrect_cvc: request,
  incorrect_number: request,
  incorrect_postal_code: request,
  incorrect_zip: request,
  india_recurring_payment_mandate_canceled: request,
  instant_payouts_config_disabled: request,
  instant_payouts_currency_disabled: request,
  instant_payouts_limit_exceeded: request,
  instant_payouts_unsupported: request,
  insufficient_funds: balance,
  intent_invalid_state: request,
  intent_verification_method_missing: request,
  invalid_canceled_subscription_fields: request,
  invalid_card_type: request,
  invalid_characters: request,
  invalid_charge_amount: request,
  invalid_cvc: request,
  invalid_expiry_month: request,
  invalid_expiry_year: request,
  invalid_mandate_reference_prefix_format: request,
  invalid_number: request,
  invalid_source_usage: request,
  invalid_tax_location: request,
  invoice_no_customer_line_items: request,
  invoice_no_payment_method_types: request,
  invoice_no_subscription_line_items: request,
  invoice_not_editable: request,
  invoice_on_behalf_of_not_editable: request,
  invoice_payment_intent_requires_action: request,
  invoice_upcoming_none: request,
  livemode_mismatch: credentials,
  lock_timeout: busy,
  missing: request,
  no_account: request,
  not_allowed_on_standard_account: request,
  out_of_inventory: request,
  ownership_declaration_not_allowed: request,
  parameter_invalid_empty: request,
  parameter_invalid_integer: request,
  parameter_invalid_string_blank: request,
  parameter_invalid_string_empty: request,
  parameter_missing: request,
  parameter_unknown: request,
  parameters_exclusive: request,
  payment_evaluation_on_api_version_not_supported: request,
  payment_intent_action_required: request,
  payment_intent_authentication_failure: request,
  payment_intent_incompatible_payment_method: request,
  payment_intent_invalid_parameter: request,
  payment_intent_konbini_rejected_confirmation_number: request,
  payment_intent_mandate_invalid: request,
  payment_intent_payment_attempt_expired: request,
  payment_intent_payment_attempt_failed: request,
  payment_intent_rate_limit_exceeded: busy,
  payment_intent_unexpected_state: request,
  payment_method_bank_account_already_verified: request,
  payment_method_bank_account_blocked: request,
  payment_method_billing_details_address_missing: request,
  payment_method_configuration_failures: request,
  payment_method_currency_mismatch: request,
  payment_method_customer_decline: request,
  payment_method_invalid_parameter: request,
  payment_method_invalid_parameter_testmode: request,
  payment_method_microdeposit_failed: request,
  payment_method_microdeposit_processing_error: request,
  payment_method_microdeposit_verification_amounts_invalid: request,
  payment_method_microdeposit_verification_amounts_mismatch: request,
  payment_method_microdeposit_verification_attempts_exceeded: request,
  payment_method_microdeposit_verification_descriptor_code_mismatch: request,
  payment_method_microdeposit_verification_timeout: request,
  payment_method_not_available: request,
  payment_method_provider_decline: request,
  payment_method_provider_timeout: request,
  payment_method_restricted: request,
  payment_method_unactivated: request,
  payment_method_unexpected_state: request,
  payment_method_unsupported_type: request,
  payout_reconciliation_not_ready: request,
  payouts_limit_exceeded: request,
  payouts_not_allowed: request,
  platform_account_required: credentials,
  platform_api_key_expired: credentials,
  postal_code_invalid: request,
  processing_error: request,
  product_inactive: request,
  progressive_onboarding_limit_exceeded: request,
  rate_limit: limited,
  refer_to_customer: request,
  refund_disputed_payment: request,
  request_blocked: ability,
  resource_already_exists: request,
  resource_missing: request,
  return_intent_already_processed: request,
  routing_number_invalid: request,
  secret_key_required: credentials,
  sepa_unsupported_account: request,
  service_period_coupon_with_metered_tiered_item_unsupported: request,
  setup_attempt_failed: request,
  setup_intent_authentication_failure: request,
  setup_intent_invalid_parameter: request,
  setup_intent_mandate_invalid: request,
  setup_intent_mobile_wallet_unsupported: request,
  setup_intent_setup_attempt_expired: request,
  setup_intent_unexpected_state: request,
  shipping_address_invalid: request,
  shipping_calculation_failed: request,
  siret_invalid: request,
  sku_inactive: request,
  smart_disputes_not_available: request,
  state_unsupported: request,
  status_transition_invalid: request,
  storer_capability_missing: request,
  storer_capability_not_active: request,
  stripe_tax_inactive: request,
  subscription_update_trial_after_billing_cycle_anchor: request,
  tax_id_invalid: request,
  tax_id_prohibited: request,
  taxes_calculation_failed: request,
  terminal_location_country_unsupported: request,
  terminal_reader_busy: request,
  terminal_reader_hardware_fault: request,
  terminal_reader_invalid_location_for_activation: request,
  terminal_reader_invalid_location_for_payment: request,
  terminal_reader_offline: request,
  terminal_reader_timeout: request,
  testmode_charges_only: credentials,
  three_d_secure_authentication_not_supported: request,
  three_d_secure_authentication_upstream_error: request,
  tls_version_unsupported: credentials,
  token_already_used: request,
  token_card_network_invalid: request,
  token_in_use: request,
  transfer_source_balance_parameters_mismatch: request,
  transfers_not_allowed: request,
  url_invalid: request,
} satisfies Record<Code, object>;

function answered(statusCode: number, raw: Record<string, unknown>, headers: Record<string, string> = {}) {
  return outcomeOf(
    Stripe.errors.StripeError.generate({ message: 'No.', ...raw, statusCode, headers } as never),
  );
}

test.each(Object.entries(meanings))('the code %s means %o', (code, meaning) => {
  const isPlain = meaning === request;
  // A plain refusal is one only with a status that says so; every other code means the same whatever the status.
  const statuses = isPlain ? [400, 402] : [400, 401, 402, 403, 409, 429, 500];
  for (const statusCode of statuses) {
    const answer = answered(statusCode, { code, type: 'invalid_request_error' });
    expect(answer).toMatchObject(meaning);
    expect(answer).not.toHaveProperty('keyRefused');
  }
});

test.each([
  ['a code', { message_code: 'insufficient_balance_for_refund' }],
  ['words', { message: 'Insufficient funds in your Stripe balance to refund this amount.' }],
])('a balance that is too low is known by %s alone', (_what, raw) => {
  expect(answered(400, { type: 'invalid_request_error', ...raw })).toMatchObject({
    ...balance,
    failure: { code: 'balance_insufficient' },
  });
});

test.each([
  ['global-rate', limited],
  ['endpoint-rate', limited],
  ['global-concurrency', limited],
  ['endpoint-concurrency', limited],
  ['resource-specific', busy],
])('a 429 for the reason %s means %o', (reason, meaning) => {
  expect(answered(429, {}, { 'stripe-rate-limited-reason': reason })).toMatchObject(meaning);
});

test('a 403 that names a permission is about the ability, any other one about the object', () => {
  const permission =
    "The provided key 'rk_test_***' does not have the required permissions for this endpoint on account 'acct_1'. Having the " +
    "'rak_charge_read' permission would allow this request to continue.";
  expect(answered(403, { message: permission })).toMatchObject(ability);
  expect(answered(403, { message: 'This charge belongs to another application.' })).toMatchObject({
    kind: 'misconfigured',
    scope: 'object',
  });
});

test('a missing parameter is refused with its name', () => {
  const raw = { code: 'parameter_missing', param: 'instructions_email', message: 'Missing required param.' };
  expect(answered(400, raw)).toMatchObject({
    kind: 'refused',
    failure: { message: 'Missing required param. (instructions_email)' },
  });
});
