/** What was done, by the word that a redirect leaves for the page that follows. */
export const doneMessages = {
  created: 'Refund created. This page updates automatically.',
  approved: 'Refund approved. It is being sent.',
  rejected: 'Refund rejected. It was not sent.',
  cancelled: 'Refund cancelled.',
  'cancel-requested': 'Cancellation requested. This page updates once the processor confirms it.',
  rechecked: 'Recheck requested. This page updates automatically.',
  resolved: 'Refund resolved.',
  dismissed: 'Flag dismissed.',
  noted: 'Note added.',
  'batch-created': 'Batch created. This page updates automatically.',
  'batch-repeated': 'This file was uploaded before. This is its batch; nothing was created again.',
  'batch-paused': 'Batch paused. Refunds that were created go on.',
  'batch-resumed': 'Batch resumed.',
  'batch-dismissed': 'Dismissed. The batch no longer needs attention.',
  'policies-saved': 'Policies saved.',
  'approvals-saved': 'Settings saved.',
  'sign-in-saved': 'Settings saved.',
  'channel-saved': 'Channel saved. Send a test to check it.',
  'channel-removed': 'Channel removed. Nothing more is posted to it.',
  'channel-tested': 'Test requested. It is sent within seconds; reload this page for the result.',
  'connection-works': 'The provider answers, and accepts the client ID and the client secret.',
  'agent-stopped': 'Agent stopped. Requests with its key are refused.',
  'agent-resumed': 'Agent resumed.',
  'key-revoked': 'API key revoked. Requests with it now fail.',
  'keys-revoked':
    'API key revoked, with what it created. Requests with these keys now fail, and its webhook endpoints are disabled.',
  'credentials-saved':
    'Credentials saved, and the processor accepts them. Refunds that waited for them are being retried.',
  'credentials-limited':
    'Credentials saved. The processor refuses some of what the service needs: add the missing permissions there.',
  'credentials-refused':
    'Credentials saved, although the processor rejected them. Refunds wait until they are accepted or replaced.',
  'credentials-untested':
    'Credentials saved. The processor could not be asked about them: test the connection later.',
  'credentials-unidentified':
    'Credentials saved, but their account at the processor could not be identified. Check that it is the right one, and not added already.',
  'sent-metadata-saved': 'Settings saved. Refunds that are first sent from now on use them.',
  'columns-saved': 'Settings saved. Lists of refunds show these columns.',
  'customer-texts-saved': 'Texts saved. They are used from now on.',
  'endpoint-saved': 'Webhook endpoint saved.',
  'endpoint-enabled': 'Webhook endpoint enabled. Send it the events that it missed.',
  'endpoint-disabled': 'Webhook endpoint disabled. Nothing more is sent to it.',
  'endpoint-deleted': 'Webhook endpoint deleted.',
  'test-sent': 'Test event sent. Its delivery is the newest in the list.',
  'delivery-resent': 'Resend requested. The attempt starts within seconds.',
  'reconciliation-started': 'Reconciliation requested. This page updates automatically.',
  'role-changed': 'Role changed.',
  'member-removed': 'Member removed, and their open invitations revoked.',
  'invitation-revoked': 'Invitation revoked. Its link no longer works.',
  'password-changed': 'Password changed. All other sessions were signed out.',
  'mails-chosen': 'Settings saved. What was noted within the last minute is still mailed.',
  'single-keys-on': 'Single keys turned on.',
  'single-keys-off': 'Single keys turned off.',
  'reset-requested':
    'If this address has a user, a link to set a new password is on its way. It expires in an hour.',
  'password-reset': 'Password set, and all sessions signed out. Sign in with the new password.',
  'session-ended': 'Session signed out.',
  'sessions-ended': 'All other sessions were signed out.',
  'signed-out': 'You are signed out.',
  'sign-in-expired': 'Your sign-in took too long. Enter your password again.',
  'set-up-expired': 'The setup took too long. Start again.',
  'second-factor-disabled': 'Second factor turned off. All other sessions were signed out.',
  'second-factor-required': 'Members now need a second factor to open this organization.',
  'second-factor-optional': 'A second factor is no longer required.',
} as const;

/** Those that leave something to do. */
export const cautions: ReadonlySet<string> = new Set([
  'credentials-limited',
  'credentials-refused',
  'credentials-untested',
  'credentials-unidentified',
]);

/** A word for what was done. */
export type DoneWord = keyof typeof doneMessages;
