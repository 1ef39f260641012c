#!/usr/bin/env node
import { loadAgentSettings } from '#shared/platform/config.ts';
import { redact } from '#shared/platform/log.ts';
import { serveTools } from './stdio.ts';

try {
  await serveTools(loadAgentSettings());
} catch (error) {
  process.stderr.write(`${redact(error instanceof Error ? error.message : String(error))}\n`);
  process.exit(1);
}
