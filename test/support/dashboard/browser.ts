import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** The chromium on PATH, or null when there is none. */
export function findChromium(): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return candidates.find(isExecutable) ?? null;
}

const names = ['chromium', 'chromium-browser', 'google-chrome'];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// Chromium has no sandbox for root, which tests in containers are.
const launchOptions = { headless: true, args: ['--no-sandbox'] };

/** Starts a browser that keeps its profile in `folder`. */
export async function openBrowser(executablePath: string, folder: string): Promise<BrowserContext> {
  return await chromium.launchPersistentContext(folder, { executablePath, ...launchOptions });
}

/** Starts a browser for any number of visitors, each in a context that knows nothing of the others. */
export async function startBrowser(executablePath: string): Promise<Browser> {
  return await chromium.launch({ executablePath, ...launchOptions });
}

/**
 * Writes down what a page complains of from here on: errors and warnings on its console, which is where violations of the
 * Content-Security-Policy are told, exceptions, and requests that do not reach anybody.
 */
export function noteComplaints(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => {
    // What a page asked for is dropped when it is left.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()}`);
  });
  return complaints;
}
