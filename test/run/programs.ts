import type { TestProject } from 'vitest/node';
import { findCompose } from '../support/containers/find-compose.ts';
import { findChromium } from '../support/dashboard/browser.ts';
import { compileService, removeCompiled } from '../support/processes/compiled-service.ts';
import { isNginxPresent } from '../support/processes/nginx.ts';
import { reportSkipped } from './skipped.ts';

/** Only `npm run test:system` has tests that need nginx and a container engine. */
const isRelease = process.env.RELEASE === 'true';

/** Compiles the service and finds the programs that tests of whole processes run. */
export default async function setup(project: TestProject): Promise<() => void> {
  project.provide('chromiumPath', chromiumIfPresent());
  project.provide('nginx', isRelease && nginxIsPresent());
  project.provide('compose', isRelease ? composeIfPresent() : null);
  const compiledFolder = await compileService();
  project.provide('compiledFolder', compiledFolder);
  return () => removeCompiled(compiledFolder);
}

function chromiumIfPresent(): string | null {
  const path = findChromium();
  if (path === null) {
    reportSkipped('chromium is not on PATH', 'Every test with a browser', 'Install chromium to run them.');
  }
  return path;
}

function nginxIsPresent(): boolean {
  if (isNginxPresent()) return true;
  reportSkipped('nginx is not on PATH', 'The test of the reverse proxy', 'Install nginx-light to run it.');
  return false;
}

function composeIfPresent(): string[] | null {
  const compose = findCompose();
  if (compose === null) {
    reportSkipped(
      'no container engine answers, or Docker Compose is missing',
      'The test of the image and of docker-compose.yml',
      'Start Docker, or set DOCKER_HOST, to run it.',
    );
  }
  return compose;
}
