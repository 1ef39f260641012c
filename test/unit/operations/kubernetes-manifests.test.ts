import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { type Container, Secret, Service } from 'kubernetes-models/v1';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { settingNames } from '#shared/platform/config.ts';

const folder = resolve(import.meta.dirname, '../../../docs/operations/kubernetes');

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec?: {
    template?: { spec: { containers: Container[] } };
    maxReplicas?: number;
    maxReplicaCount?: number;
    strategy?: { rollingUpdate: { maxSurge: number } };
  };
}

const manifests = readdirSync(folder).flatMap((file) =>
  parseAllDocuments(readFileSync(resolve(folder, file), 'utf8')).map((parsed) => ({
    file,
    manifest: parsed.toJS() as Manifest,
  })),
);

/** The schemas of Kubernetes and KEDA, by kind. */
const kinds = {
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  ScaledObject,
  Secret,
  Service,
};

test.each(manifests.map(({ file, manifest }) => [file, manifest.kind, manifest] as const))(
  '%s: the %s fits its schema and has no field that Kubernetes does not know',
  (_file, kind, manifest) => {
    const { validate } = kinds[kind as keyof typeof kinds].prototype;
    // The schemas allow every unknown field, and so never read one.
    const { watched, unread } = watchReads(manifest);
    expect(() => validate.call(watched)).not.toThrow();
    expect([...unread]).toEqual([]);
  },
);

/** Stands in for a document and keeps the paths of the fields that have not been read. */
function watchReads(document: object): { watched: never; unread: Set<string> } {
  const unread = new Set<string>();
  const watch = (value: unknown, path: string): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const parts: object = Array.isArray(value) ? [] : {};
    for (const [key, part] of Object.entries(value)) {
      unread.add(`${path}/${key}`);
      Object.assign(parts, { [key]: watch(part, `${path}/${key}`) });
    }
    return new Proxy(parts, {
      get(target, key) {
        unread.delete(`${path}/${String(key)}`);
        return Reflect.get(target, key);
      },
    });
  };
  return { watched: watch(document, '') as never, unread };
}

test('the containers set only settings of the service, and what they need is mounted', () => {
  const containers = manifests.flatMap(({ manifest }) => manifest.spec?.template?.spec.containers ?? []);
  expect(containers).toHaveLength(3);
  const ofNode = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS'];
  const known = [...ofNode, ...settingNames, ...settingNames.map((name) => `${name}_FILE`)];
  const secretKeys = manifests.flatMap(({ manifest }) =>
    Object.keys((manifest as { stringData?: object }).stringData ?? {}),
  );
  for (const { env = [], securityContext } of containers) {
    expect(known).toEqual(expect.arrayContaining(env.map(({ name }) => name)));
    const files = env.filter(({ name }) => /_(FILE|CERTS)$/.test(name)).map(({ value = '' }) => value);
    expect(secretKeys).toEqual(expect.arrayContaining(files.map((path) => path.split('/').at(-1))));
    expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
  }
});

test('the most processes that the autoscalers and a rollout start fit the connections that deployment.md asks for', () => {
  const page = readFileSync(resolve(folder, '../deployment.md'), 'utf8');
  const kindOf = (file: string, kind: string) =>
    manifests.find((each) => each.file === file && each.manifest.kind === kind)?.manifest.spec;
  const surgeOf = (file: string) =>
    kindOf(file, 'Deployment')?.strategy?.rollingUpdate.maxSurge ?? Number.NaN;
  const apis = kindOf('api.yaml', 'HorizontalPodAutoscaler')?.maxReplicas ?? Number.NaN;
  const workers = kindOf('worker-scaling.yaml', 'ScaledObject')?.maxReplicaCount ?? Number.NaN;
  const [, ofApi = '', ofWorker = ''] =
    /opens (\d+) connections to PostgreSQL, each worker (\d+)/.exec(page) ?? [];
  const needed =
    (apis + surgeOf('api.yaml')) * Number(ofApi) + (workers + surgeOf('worker.yaml')) * Number(ofWorker);
  const most = Number(new RegExp(`need ${needed}: set\\s+\`max_connections = (\\d+)`).exec(page)?.[1]);
  // Three are the administrator's (superuser_reserved_connections), and the migration has some.
  expect(needed).toBeLessThanOrEqual(most - 3 - 5);
});

test('every process has a readiness probe, and metrics on the port that is named so', () => {
  const pods = manifests.filter(({ manifest }) => manifest.kind === 'Deployment');
  for (const { manifest } of pods) {
    const [container] = manifest.spec?.template?.spec.containers ?? [];
    expect(container?.readinessProbe).toBeDefined();
    const port = container?.ports?.find(({ name }) => name === 'metrics')?.containerPort;
    expect(container?.env).toContainEqual({ name: 'METRICS_PORT', value: String(port) });
  }
});
