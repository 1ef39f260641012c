import { createRequire } from 'node:module';
import type Stripe from 'stripe';

const require = createRequire(import.meta.url);

/** Stripe's SDK. It is loaded with the first account, because it would hold up the start of every process. */
export const stripeSdk = (): typeof Stripe => require('stripe');
