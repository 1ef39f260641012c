/** A field as a browser submits it; names may repeat. */
export type SentField = [name: string, value: string];

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function unescaped(text: string): string {
  return text.replace(/&(#?\w+);/g, (entity, name: string) => entities[name] ?? entity);
}

function attribute(tag: string, name: string): string | null {
  const found = new RegExp(`\\s${name}(?:="([^"]*)")?(?=[\\s/>])`).exec(tag);
  return found === null ? null : unescaped(found[1] ?? '');
}

/** The fields that a browser submits for the first form whose tag matches, unchanged, without buttons. */
export function sentForm(page: string, form: RegExp): SentField[] {
  const whole = page.split('<form').find((each) => form.test(each.slice(0, each.indexOf('>') + 1))) ?? '';
  const content = whole.slice(0, whole.indexOf('</form>'));
  return [
    ...[...content.matchAll(/<input\b(?:"[^"]*"|[^">])*>/g)].flatMap(([tag]): SentField[] => {
      const name = attribute(tag, 'name');
      const isLeftOut = attribute(tag, 'type') === 'checkbox' && attribute(tag, 'checked') === null;
      const value = attribute(tag, 'value') ?? '';
      return name === null || name === '_csrf' || isLeftOut ? [] : [[name, value]];
    }),
    ...[...content.matchAll(/<select\b[^>]*?name="([^"]*)"[^>]*>(.*?)<\/select>/gs)].map(
      ([, name = '', options = '']): SentField => {
        const tags = [...options.matchAll(/<option\b[^>]*>/g)].map(([tag]) => tag);
        const chosen = tags.find((tag) => attribute(tag, 'selected') !== null) ?? tags[0] ?? '';
        return [unescaped(name), attribute(chosen, 'value') ?? ''];
      },
    ),
    ...[...content.matchAll(/<textarea\b[^>]*name="([^"]*)"[^>]*>(.*?)<\/textarea>/gs)].map(
      ([, name = '', text = '']): SentField => [unescaped(name), unescaped(text)],
    ),
  ];
}
