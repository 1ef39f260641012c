import { ButtonLink, Submit } from '../components/button.tsx';
import { CsrfField, FormNotice, postedTo } from '../components/form.tsx';
import { CodeField, EntriesProvider, TextField } from '../components/inputs.tsx';
import type { AskProps } from '../http/confirmation.ts';
import { accountPath, companySignInPath } from '../http/paths.ts';
import { isForPart, useRequest } from '../http/render.ts';
import { Gate } from '../layout/document.tsx';

const title = "Confirm that it's you";

/** Asks the user who they are, before a form is carried out: as a page, or in place of the part that the form was to replace. */
export function Confirmation(props: AskProps) {
  const request = useRequest();
  const { companyOf = '' } = request.session;
  const { way, cancelTo } = props;
  const formIn = (id?: string) => {
    if (way === 'set-up') return <SetUpFirst cancelTo={cancelTo} />;
    if (way !== 'provider') return <ConfirmationForm {...props} replaces={id} />;
    return <CompanyConfirmation companyOf={companyOf} cancelTo={cancelTo} />;
  };
  if (!isForPart(request)) return <Gate title={title}>{formIn()}</Gate>;
  const [, id = 'main'] = /^[\w-]+#([\w-]+)$/.exec(String(request.headers['hx-target'])) ?? [];
  return (
    <section id={id} class="stack" aria-labelledby="confirmation-title">
      <h2 id="confirmation-title">{title}</h2>
      {formIn(id)}
    </section>
  );
}

interface ConfirmationFormProps extends AskProps {
  /** The id of the part of the page that the answer replaces; by default it replaces the page. */
  replaces: string | undefined;
}

/** The held form is sent again to where it was sent. */
function ConfirmationForm({ sealed, problems, way, cancelTo, replaces }: ConfirmationFormProps) {
  return (
    <form {...postedTo(useRequest().url, replaces)} class="card stack">
      <p>Confirm your identity to continue. Your entries are kept.</p>
      <FormNotice problem={problems.form} />
      <EntriesProvider value={{ body: {}, problems, focus: way === 'code' ? 'code' : 'current' }}>
        {way === 'code' ? (
          <CodeField />
        ) : (
          <TextField
            name="current"
            label="Your password"
            type="password"
            autocomplete="current-password"
            required
          />
        )}
      </EntriesProvider>
      <CsrfField />
      <input type="hidden" name="held" value={sealed} />
      <div class="row">
        <Submit kind="primary">Confirm</Submit>
        <ButtonLink to={cancelTo}>Cancel</ButtonLink>
      </div>
    </form>
  );
}

/** A form is not kept: the provider leads back to the page that it was on. */
function CompanyConfirmation({ companyOf, cancelTo }: { companyOf: string; cancelTo: string }) {
  const { method, url } = useRequest();
  const next = method === 'GET' ? url : cancelTo;
  const address = `${companySignInPath}/${companyOf}?confirm=yes&next=${encodeURIComponent(next)}`;
  return (
    <div class="card stack">
      <p>This action needs a recent sign-in with your company's account. Sign in again to continue.</p>
      <div class="row">
        <ButtonLink kind="primary" to={address}>
          Sign in again
        </ButtonLink>
        <ButtonLink to={cancelTo}>Cancel</ButtonLink>
      </div>
    </div>
  );
}

function SetUpFirst({ cancelTo }: { cancelTo: string }) {
  return (
    <div class="card stack">
      <p>
        Your company's sign-in does not say when you signed in. Set up a second factor here; it confirms this
        and later actions.
      </p>
      <div class="row">
        <ButtonLink kind="primary" to={`${accountPath}#second-factor`}>
          Set up a second factor
        </ButtonLink>
        <ButtonLink to={cancelTo}>Cancel</ButtonLink>
      </div>
    </div>
  );
}
