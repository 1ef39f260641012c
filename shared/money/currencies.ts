/** The active currencies of ISO 4217 (list one, without funds, metals and test codes), by decimals of the minor unit. */
const codesByExponent: Record<number, string> = {
  0: 'bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf',
  2:
    'aed afn all amd aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf cny cop ' +
    'crc cup cve czk dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gtq gyd hkd hnl htg huf idr ils inr ' +
    'irr jmd kes kgs khr kpw kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr mzn ' +
    'nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr sdg sek sgd shp sle sos srd ssp ' +
    'stn svc syp szl thb tjs tmt top try ttd twd tzs uah usd uyu uzs ves wst xcd xcg yer zar zmw zwg',
  3: 'bhd iqd jod kwd lyd omr tnd',
};

/** Decimals of the minor unit by lowercase code. */
export const currencyExponents: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(codesByExponent).flatMap(([exponent, codes]) =>
    codes.split(' ').map((code) => [code, Number(exponent)]),
  ),
);
