import { FormNotice } from '../components/form.tsx';
import { Notice } from '../components/notice.tsx';
import { wordLeft } from '../http/flash.ts';
import { useRequest } from '../http/render.ts';
import { cautions, doneMessages } from '../words/done.ts';

/** What led to this page: a change that it confirms, or one that a button did not make. */
export function Messages() {
  const request = useRequest();
  const { submitted } = request;
  const word = wordLeft(request);
  return (
    <>
      {word && <Notice tone={cautions.has(word) ? 'warn' : 'good'}>{doneMessages[word]}</Notice>}
      {submitted?.isButton && <FormNotice problem={Object.values(submitted.problems)[0]} />}
    </>
  );
}
