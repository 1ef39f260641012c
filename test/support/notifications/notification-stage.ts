import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { startMailServer } from '#test/sandbox/mail-server.ts';
import { type Notifier, openNotifier } from '#worker/notify/notify.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { newPayment } from '../refunds/payments.ts';
import { refundRequest } from '../refunds/refund-requests.ts';
import { storePolicies } from '../refunds/stored-policies.ts';
import type { TestService } from '../service.ts';

/** Notes what is new, and sends what is due. */
export async function runTasks({ tasks }: Notifier): Promise<void> {
  for (const { run } of tasks) await run(new AbortController().signal);
}

/** The service with a mail server, whose notifications go out when a test says so. */
export function useNotifications(service: TestService) {
  return madeBeforeTests(
    'The mail server',
    async () => {
      const server = await startMailServer();
      Object.assign(service.settings, {
        ...{ SMTP_URL: server.url, MAIL_FROM: 'refunds@example.com', PUBLIC_URL: 'https://refunds.test' },
      });
      const notifier = openNotifier(service.deps);
      if (notifier === null) throw new Error('There is a mail server.');
      const run = () => runTasks(notifier);
      await storePolicies(service, { approvalAbove: { api: 0, dashboard: 0 } });
      return {
        server,
        run,
        tasks: (intervalMs: number) => notifier.tasks.map((task) => ({ ...task, intervalMs })),
        /** Notes what is new, and sends it as if its minute and every pause were over. */
        async send() {
          await run();
          await service.deps.db.notification.updateMany({
            where: { dueAt: { not: null } },
            data: { dueAt: new Date(0) },
          });
          await run();
        },
        /** The mails to an address, the oldest first. */
        mailsTo: (address: string) => server.mails.filter(({ to }) => to?.[0]?.address === address),
        close: () => {
          notifier.close();
          return server.close();
        },
      };
    },
    (stage) => stage.close(),
  );
}

/** A refund that awaits approval, of the organization's test key unless the request says otherwise. */
export async function pendingRefund(
  service: TestService,
  more: Parameters<typeof refundRequest>[2] = {},
): Promise<string> {
  const request = refundRequest(service, await newPayment(service), more);
  return (await createRefund(service.deps, request)).refund.id;
}
