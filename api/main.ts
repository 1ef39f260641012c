import { loadApiSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { runMain } from '#shared/platform/process.ts';
import { serve } from './serve.ts';

runMain(async () => {
  const settings = loadApiSettings();
  await serve(settings, openLog(settings.LOG_LEVEL, 'api'));
});
