import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import type { TestService } from '../service.ts';

/** A response of the dashboard. */
export interface Page {
  status: number;
  /** The body. */
  text: string;
  headers: LightMyRequestResponse['headers'];
  /** The word that it leaves for the page that follows; null for none. */
  done: string | null;
}

export interface FormOptions {
  /** Replaces the token of the last page; null omits it. */
  csrfToken?: string | null;
  headers?: Record<string, string>;
}

/** A minimal browser: keeps cookies and sends forms with the CSRF token of the last page. */
export class DashboardVisitor {
  readonly #service: TestService;
  readonly #cookies = new Map<string, string>();
  readonly #remoteAddress: string;
  #csrfToken = '';

  /** @param remoteAddress the IP address; one of its own by default, so that visitors do not share limits. */
  constructor(service: TestService, remoteAddress = `10.${randomBytes(3).join('.')}`) {
    this.#service = service;
    this.#remoteAddress = remoteAddress;
  }

  /** The cookies as a browser sends them. */
  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** The token of the last page. */
  get csrfToken(): string {
    return this.#csrfToken;
  }

  /** Replaces the cookies by another browser's. */
  takeCookies(cookie: string): void {
    this.#cookies.clear();
    for (const pair of cookie.split('; ')) {
      const [name = '', ...value] = pair.split('=');
      this.#cookies.set(name, value.join('='));
    }
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.#receive(
      await this.#service.app.inject({
        method: 'GET',
        url,
        headers: { cookie: this.cookie, ...headers },
        remoteAddress: this.#remoteAddress,
      }),
    );
  }

  /** Submits a form of the same origin. */
  async post(
    url: string,
    fields: Record<string, string> | [name: string, value: string][] = {},
    options: FormOptions = {},
  ): Promise<Page> {
    const { csrfToken = this.#csrfToken, headers = {} } = options;
    const body = new URLSearchParams(fields);
    if (csrfToken !== null) body.set('_csrf', csrfToken);
    return this.#receive(
      await this.#service.app.inject({
        method: 'POST',
        url,
        headers: {
          cookie: this.cookie,
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
          ...headers,
        },
        payload: body.toString(),
        remoteAddress: this.#remoteAddress,
      }),
    );
  }

  async signIn(email: string, password: string): Promise<Page> {
    return await this.post('/dashboard/sign-in', { email, password }, { csrfToken: null });
  }

  #receive({ statusCode, body, headers, cookies }: LightMyRequestResponse): Page {
    for (const { name, value, expires } of cookies) {
      if (value === '' || (expires !== undefined && expires <= new Date())) this.#cookies.delete(name);
      else this.#cookies.set(name, encodeURIComponent(value));
    }
    this.#csrfToken = /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? this.#csrfToken;
    const done = cookies.find(({ name, value }) => name === 'refunds_done' && value !== '')?.value ?? null;
    return { status: statusCode, text: body, headers, done };
  }
}
